#include "compiler/planning/delivery_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/compiler/fabric_flow_oracle.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kHundredMegabytes = 100'000'000;

struct Found {
  Demand demand;
  RankResources resources;
  Deliveries deliveries;
  Result<DeliveryTrees> trees;
};

Found FindOn(const JobRecords& job, const Cluster& cluster) {
  Found found;
  found.demand = BuildDemand(job).value();
  found.resources = MakeRankResources(job, cluster).value();
  found.deliveries =
      FindDeliveries(job, found.demand, BuildPrograms(job, found.demand), found.resources);
  found.trees = FindDeliveryTrees(found.deliveries, found.demand, found.resources,
                                  RailBundles(job, cluster, found.resources));
  return found;
}

// Every tree leads from its source to all receiving domains, each entered once, over rails that
// both ends have; the bytes of a type's trees are its bytes.
void ExpectWhole(const Found& found) {
  for (const TreeTraffic& type : found.trees->traffic) {
    std::int64_t bytes = 0;
    for (const DeliveryTree& tree : type.trees) {
      bytes += tree.bytes;
      std::set<DomainIndex> reached{tree.source};
      for (std::size_t h = 0; h < tree.hops.size(); ++h) {
        const DomainHop& hop = tree.hops[h];
        ASSERT_LT(hop.parent, static_cast<std::int32_t>(h));
        const DomainIndex at = hop.parent == kFromHolders
                                   ? tree.source
                                   : tree.hops[static_cast<std::size_t>(hop.parent)].to;
        EXPECT_EQ(hop.from, at);
        EXPECT_TRUE(reached.insert(hop.to).second);
      }
      for (const GroupDomain& domain : found.deliveries.groups[type.group].domains) {
        EXPECT_TRUE(reached.contains(domain.domain));
      }
    }
    EXPECT_EQ(bytes, type.bytes);
  }
}

// Against the program of network coding, which nothing beats: trees take as long, within what the
// search stops at, but for a few (seeds 213, 230, 284) where domains that rails do not join take
// their copies from different holders, which no tree from one holder can; and what one calls
// impossible is so for the other. `plain_machine`: one NIC a GPU, so that a GPU's bytes are on one
// rail, as the oracle lets every NIC be used by itself.
TEST(FindDeliveryTrees, TakeAsLongAsTheFlowOptimumOfAnyFabric) {
  int compared = 0;
  int limited = 0;
  int near = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 100;
    limits.long_factor = 1'000'000;
    limits.plain_machine = true;
    RandomJob random = MakeRandomJob(seed, limits);
    RandomDraws draws(seed);
    DrawFabric(draws, random.cluster);
    const Found found = FindOn(random.job, random.cluster);
    const double optimum = FabricFlowOptimumSeconds(random.job, found.demand, random.cluster);
    ASSERT_EQ(found.trees.has_value(), optimum >= 0);
    if (optimum <= 0) continue;
    ExpectWhole(found);
    ++compared;
    EXPECT_GE(found.trees->seconds, optimum * (1 - 1e-6));
    near += found.trees->seconds <= optimum * 1.005 ? 1 : 0;
    if (random.cluster.fabric.rail_crossing != RailCrossing::kFull) ++limited;
  }
  EXPECT_GT(compared, 120);
  EXPECT_GT(limited, 60);
  EXPECT_GT(near, compared * 97 / 100);
}

// Domain 0 holds 100 MB that domain 1 needs; its NICs are on rail 0, domain 1's on rail 1, domain
// 2's on both. Nothing crosses: domain 2 helps. Without it nothing leads there.
TEST(FindDeliveryTrees, AHelperChangesRails) {
  std::vector<TestDomain> domains{{1, 0, {{{0}, 50, 0}}}, {1, 0, {{{0}, 50, 1}}}};
  domains.push_back({2, 400, {{{0}, 50, 0}, {{1}, 50, 1}}});
  Cluster cluster = MakeTestCluster(domains);
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  builder.AddSource({{"w", {0}, {kHundredMegabytes}}});
  builder.AddDestination({{"w", {0}, {kHundredMegabytes}}});
  const Found refused = FindOn(builder.On(cluster), cluster);
  ASSERT_FALSE(refused.trees);
  EXPECT_THAT(ToString(refused.trees.error()),
              HasSubstr("domain 1 needs bytes of rank 0 and shares no rail"));
  for (int i = 0; i < 2; ++i) builder.AddSource({});
  const Found found = FindOn(builder.On(cluster), cluster);
  ASSERT_TRUE(found.trees) << ToString(found.trees.error());
  ASSERT_EQ(found.trees->traffic[0].trees.size(), 1U);
  EXPECT_EQ(found.trees->traffic[0].trees[0].hops.size(), 2U);
  EXPECT_NEAR(found.trees->seconds, 2e-3, 1e-8);
}

// Domain 0 and two needers under one switch, two more needers under the other, both 4:1 of 3 and 2
// times 50 GB/s. What enters the second must enter once, at 25 GB/s: 4 ms; from there one needer
// passes it to the other inside.
TEST(FindDeliveryTrees, ANarrowSwitchIsPassedOnce) {
  Cluster cluster = UniformCluster(5, 1, 0, 50);
  cluster.fabric.switches = {{{0, 1, 2}, 4}, {{3, 4}, 4}};
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  builder.AddSource({{"w", {0}, {kHundredMegabytes}}});
  for (int i = 0; i < 4; ++i) builder.AddDestination({{"w", {0}, {kHundredMegabytes}}});
  const Found found = FindOn(builder.On(cluster), cluster);
  ASSERT_TRUE(found.trees);
  EXPECT_NEAR(found.trees->seconds, 4e-3, 4e-3 * 0.005);
  for (const DeliveryTree& tree : found.trees->traffic[0].trees) {
    int passing = 0;
    for (const DomainHop& hop : tree.hops) passing += hop.from < 3 && hop.to >= 3 ? 1 : 0;
    EXPECT_EQ(passing, 1);
  }
}

TEST(FindDeliveryTrees, RatesTooFarApartAreTheInputsFault) {
  Cluster cluster = UniformCluster(2, 1, 0, 50);
  cluster.fabric.switches = {{{0}, 1e18}};
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  builder.AddSource({{"w", {0}, {kHundredMegabytes}}});
  builder.AddDestination({{"w", {0}, {kHundredMegabytes}}});
  const Found refused = FindOn(builder.On(cluster), cluster);
  ASSERT_FALSE(refused.trees);
  EXPECT_EQ(refused.trees.error().fault, Fault::kInput);
  EXPECT_THAT(ToString(refused.trees.error()), HasSubstr("too far apart"));
}

}  // namespace
}  // namespace reshard
