#include "compiler/planning/delivery_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/demand/demand_builder.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Deliveries Find(const JobRecords& job, const Cluster& cluster) {
  const Plan plan = MakeUnplanned(job).value();
  const RankResources resources = MakeRankResources(job, cluster).value();
  return FindDeliveries(job, plan.demand, plan.programs, resources);
}

// Domains {0, 1}, {2, 3}, {4, 5}. Rank 0 holds "w"; 1, 2, 3 and 4 need it: 1 gets it inside domain
// 0, the others over the network, together.
TEST(DeliveryGroups, NeedersBesideAHolderAreServedInside) {
  const Cluster cluster = UniformCluster(3, 2, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {8});
  const TestBox whole{"w", {0}, {8}};
  builder.AddSource({whole});
  for (int i = 0; i < 4; ++i) builder.AddDestination({whole});
  const Deliveries deliveries = Find(builder.On(cluster), cluster);
  ASSERT_EQ(deliveries.groups.size(), 2U);
  const auto inside = std::ranges::find(deliveries.groups, true, &DeliveryGroup::local);
  const auto across = std::ranges::find(deliveries.groups, false, &DeliveryGroup::local);
  EXPECT_THAT(inside->Receivers(), ElementsAre(1));
  EXPECT_THAT(inside->classes[0].holders, ElementsAre(0));
  EXPECT_EQ(inside->bytes, 16);
  EXPECT_THAT(across->Receivers(), ElementsAre(2, 3, 4));
  ASSERT_EQ(across->domains.size(), 2U);
  EXPECT_EQ(across->domains[0].domain, 1);
  EXPECT_THAT(across->domains[0].receivers, ElementsAre(2, 3));
  EXPECT_THAT(across->domains[1].receivers, ElementsAre(4));
  EXPECT_THAT(deliveries.local_copies, IsEmpty());
}

// 2^21 parts in all for 4 receivers are 2^19 each: of 2^40 bytes, a part has 2^21 at least. More
// receivers than parts: the group as a whole.
TEST(DeliveryGroups, PartsAreAsManyAsAllReceiversTogetherCanBear) {
  DeliveryGroup group;
  group.domains = {{0, {0, 1}}, {1, {2, 3}}};
  group.bytes = std::int64_t{1} << 40;
  EXPECT_NEAR(group.LeastPartBytes(), 1 << 21, 1);
  group.bytes = 100;
  EXPECT_EQ(group.LeastPartBytes(), 1);
  group.domains[0].receivers.assign(std::size_t{1} << 22, 0);
  EXPECT_GT(group.LeastPartBytes(), group.bytes);
}

// "a" is held by 0 and 1, "b" by 1 alone, both needed by 2: two classes, one group of 16 + 4 bytes.
TEST(DeliveryGroups, ClassesOfEqualReceiversShareAGroup) {
  const Cluster cluster = UniformCluster(3, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kBF16, {8});
  builder.AddTensor("b", DType::kBF16, {2});
  builder.AddSource({{"a", {0}, {8}}});
  builder.AddSource({{"a", {0}, {8}}, {"b", {0}, {2}}});
  builder.AddDestination({{"a", {0}, {8}}, {"b", {0}, {2}}});
  const Deliveries deliveries = Find(builder.On(cluster), cluster);
  ASSERT_EQ(deliveries.groups.size(), 1U);
  EXPECT_EQ(deliveries.groups[0].bytes, 20);
  ASSERT_EQ(deliveries.groups[0].classes.size(), 2U);
  EXPECT_THAT(deliveries.groups[0].classes[0].holders, ElementsAre(0, 1));
  EXPECT_THAT(deliveries.groups[0].classes[1].holders, ElementsAre(1));
}

// Inside a domain only that domain's holders send; over the network all do.
TEST(DeliveryGroups, LocalGroupsKnowTheirOwnHoldersOnly) {
  const Cluster cluster = UniformCluster(3, 2, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kBF16, {8});
  const TestBox whole{"w", {0}, {8}};
  builder.AddSource({whole});
  builder.AddDestination({whole});
  builder.AddSource({whole});
  builder.AddDestination({whole});
  builder.AddDestination({whole});
  const Deliveries deliveries = Find(builder.On(cluster), cluster);
  ASSERT_EQ(deliveries.groups.size(), 3U);
  std::map<std::vector<RankIndex>, std::vector<RankIndex>> holders_of;
  for (const DeliveryGroup& group : deliveries.groups) {
    holders_of[group.Receivers()] = group.classes[0].holders;
  }
  EXPECT_THAT(holders_of[{1}], ElementsAre(0));
  EXPECT_THAT(holders_of[{3}], ElementsAre(2));
  EXPECT_THAT(holders_of[{4}], ElementsAre(0, 2));
}

TEST(DeliveryGroups, OwnBytesAreCopiedUnlessInPlace) {
  const Cluster cluster = UniformCluster(1, 2, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kBF16, {8});
  builder.AddTensor("b", DType::kBF16, {8});
  const std::vector<TestBox> whole{{"a", {0}, {8}}, {"b", {0}, {8}}};
  builder.AddBoth(whole, whole);
  builder.AddBoth(whole, whole);
  EXPECT_EQ(Find(builder.On(cluster), cluster).local_copies.size(), 2U);  // one class, two ranks
  builder.ShareMemory("a", "a");
  const JobRecords job = builder.On(cluster);
  const Deliveries deliveries = Find(job, cluster);
  ASSERT_EQ(deliveries.local_copies.size(), 2U);
  const Demand demand = BuildDemand(job).value();
  for (const Deliveries::LocalCopy& copy : deliveries.local_copies) {
    const DemandClass& c = demand.classes[static_cast<std::size_t>(copy.demand_class)];
    EXPECT_EQ(demand.fragments[c.first_fragment].tensor, 1);  // "b"
  }
  EXPECT_THAT(deliveries.groups, IsEmpty());
}

// Every class reaches each needer that does not hold it in exactly one group; local groups stay in
// one domain that has all their holders, network groups enter domains without a holder.
TEST(DeliveryGroups, CoverEveryNeederOnce) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob random = MakeRandomJob(seed);
    const Demand demand = BuildDemand(random.job).value();
    const RankResources resources = MakeRankResources(random.job, random.cluster).value();
    const Deliveries deliveries =
        FindDeliveries(random.job, demand, BuildPrograms(random.job, demand), resources);
    const auto domain_of = [&](RankIndex r) {
      return resources.domain[static_cast<std::size_t>(r)];
    };
    std::set<std::pair<ClassIndex, RankIndex>> served;
    std::set<std::pair<bool, std::vector<RankIndex>>> distinct;
    for (const DeliveryGroup& group : deliveries.groups) {
      EXPECT_TRUE(distinct.insert({group.local, group.Receivers()}).second);
      std::int64_t bytes = 0;
      for (const GroupClass& c : group.classes) {
        const DemandClass& record = demand.classes[static_cast<std::size_t>(c.demand_class)];
        bytes += record.bytes;
        for (const RankIndex r : group.Receivers()) {
          EXPECT_TRUE(served.insert({c.demand_class, r}).second);
        }
        for (const RankIndex h : c.holders) {
          EXPECT_TRUE(std::ranges::binary_search(demand.Holders(record), h));
        }
        for (const GroupDomain& domain : group.domains) {
          const bool beside = std::ranges::any_of(
              demand.Holders(record), [&](RankIndex h) { return domain_of(h) == domain.domain; });
          EXPECT_EQ(beside, group.local);
        }
        if (group.local) {
          EXPECT_EQ(group.domains.size(), 1U);
          for (const RankIndex h : c.holders) EXPECT_EQ(domain_of(h), group.domains[0].domain);
        } else {
          EXPECT_EQ(c.holders.size(), demand.Holders(record).size());
        }
      }
      EXPECT_EQ(group.bytes, bytes);
    }
    std::size_t expected = 0;
    for (std::size_t i = 0; i < demand.classes.size(); ++i) {
      for (const RankIndex n : demand.Needers(demand.classes[i])) {
        if (std::ranges::binary_search(demand.Holders(demand.classes[i]), n)) continue;
        ++expected;
        EXPECT_TRUE(served.contains({static_cast<ClassIndex>(i), n}));
      }
    }
    EXPECT_EQ(served.size(), expected);
  }
}

}  // namespace
}  // namespace reshard
