#include "compiler/planning/rail_bundles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::Pair;

// One rank a GPU; what they hold is of no matter.
JobRecords RanksOn(const Cluster& cluster) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {8});
  for (std::size_t g = 0; g < cluster.gpus.size(); ++g) builder.AddSource({{"w", {0}, {8}}});
  return builder.On(cluster);
}

RailBundles BundlesOf(const Cluster& cluster) {
  const JobRecords job = RanksOn(cluster);
  return {job, cluster, MakeRankResources(job, cluster).value()};
}

// Rates and shares of what a hop takes.
std::map<double, double> RatesOf(const RailBundles& bundles, DomainIndex from, BundleIndex out,
                                 DomainIndex to, BundleIndex in) {
  std::map<double, double> shares;
  for (const FabricUse& use : bundles.UsesOf(from, out, to, in)) {
    shares[bundles.rates()[static_cast<std::size_t>(use.resource)]] += use.share;
  }
  return shares;
}

TEST(RailBundles, RailsThatMeetAreOne) {
  const RailBundles bundles = BundlesOf(UniformCluster(2, 4, 400, 50));
  EXPECT_FALSE(bundles.limited());
  EXPECT_EQ(bundles.count(), 1);
  EXPECT_FALSE(bundles.Crosses(0, 0));
  EXPECT_THAT(RatesOf(bundles, 0, 0, 1, 0), ElementsAre(Pair(200, 2)));  // out and in
}

// Two rails of 50 GB/s in three domains each: 150 / 4 may leave a rail, and enter it, for others.
TEST(RailBundles, ASpineIsPassedByWhatCrossesOnly) {
  Cluster cluster = UniformCluster(3, 2, 400, 50);
  cluster.fabric.rail_crossing = RailCrossing::kSpine;
  cluster.fabric.spine_oversubscription = 4;
  const RailBundles bundles = BundlesOf(cluster);
  EXPECT_TRUE(bundles.limited());
  ASSERT_EQ(bundles.count(), 2);
  EXPECT_FALSE(bundles.Crosses(1, 1));
  EXPECT_TRUE(bundles.Crosses(0, 1));
  EXPECT_THAT(RatesOf(bundles, 0, 1, 2, 1), ElementsAre(Pair(50, 2)));
  EXPECT_THAT(RatesOf(bundles, 0, 0, 2, 1), ElementsAre(Pair(37.5, 2), Pair(50, 2)));
}

// GPU 1's NIC is out of service; nothing crosses.
TEST(RailBundles, WithoutASpineOnlyEqualRailsMeet) {
  Cluster cluster = UniformCluster(2, 2, 400, 50);
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  cluster.nics[1].gbps = 0;
  const RailBundles bundles = BundlesOf(cluster);
  EXPECT_EQ(bundles.OfRank(1), kNoBundle);
  ASSERT_EQ(bundles.count(), 2);
  const BundleIndex first = bundles.OfRank(0);
  const BundleIndex second = bundles.OfRank(3);
  EXPECT_TRUE(bundles.Meet(first, first));
  EXPECT_FALSE(bundles.Meet(first, second));
  EXPECT_EQ(bundles.Egress(0, second), 0);
  EXPECT_EQ(bundles.Ingress(1, second), 50);
}

// GPU 0 has NICs of 50 GB/s on rails 0 and 1, GPU 1 of domain 1 on rail 1 alone: over it goes all,
// so that a byte is worth two of the sender's 100 GB/s.
TEST(RailBundles, WhatSharesOneOfTwoRailsUsesHalfTheNics) {
  TestDomain two{1, 0, {{{0}, 50, 0}, {{0}, 50, 1}}};
  TestDomain one{1, 0, {{{0}, 50, 1}}};
  Cluster cluster = MakeTestCluster(std::vector{two, one});
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  const RailBundles bundles = BundlesOf(cluster);
  ASSERT_TRUE(bundles.Meet(bundles.OfRank(0), bundles.OfRank(1)));
  EXPECT_THAT(RatesOf(bundles, 0, bundles.OfRank(0), 1, bundles.OfRank(1)),
              ElementsAre(Pair(50, 1), Pair(100, 2)));
}

// Domains 0 and 1 under a switch of 2:1: 2 x 2 x 50 / 2.
TEST(RailBundles, SwitchesArePassedFromInsideOut) {
  Cluster cluster = UniformCluster(3, 2, 400, 50);
  cluster.fabric.switches = {{{0, 1}, 2}};
  const RailBundles bundles = BundlesOf(cluster);
  EXPECT_TRUE(bundles.limited());
  const auto uses = [&](DomainIndex from, DomainIndex to) {
    return bundles.UsesOf(from, 0, to, 0).size();
  };
  EXPECT_EQ(uses(0, 1), 2U);
  EXPECT_EQ(uses(0, 2), 3U);
  EXPECT_EQ(uses(2, 1), 3U);
  EXPECT_EQ(bundles.rates()[static_cast<std::size_t>(bundles.UsesOf(0, 0, 2, 0).back().resource)],
            100);
}

// 64 domains of 8 equal rails are too many to look at each: one bundle, a rail has an eighth of it.
TEST(RailBundles, ManyEqualRailsAreOneBundle) {
  Cluster cluster = UniformCluster(64, 8, 400, 50);
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  const RailBundles bundles = BundlesOf(cluster);
  EXPECT_EQ(bundles.count(), 1);
  EXPECT_EQ(bundles.rail_set_count(), 8);
  EXPECT_DOUBLE_EQ(bundles.PartOfSet(3), 0.125);
  EXPECT_DOUBLE_EQ(bundles.Egress(5, 0), 400);
}

}  // namespace
}  // namespace reshard
