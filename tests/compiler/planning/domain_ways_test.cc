#include "compiler/planning/domain_ways.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

// Two domains of two rails over a spine. Rail 0 out of domain 0 is dear, so rail 1 it is; where
// being at rail 1 of domain 1 costs more than crossing does, the way crosses to rail 0.
TEST(DomainWays, TheCheapestRailsAreTaken) {
  Cluster cluster = UniformCluster(2, 2, 400, 50);
  cluster.fabric.rail_crossing = RailCrossing::kSpine;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {8});
  for (int r = 0; r < 4; ++r) builder.AddSource({{"w", {0}, {8}}});
  const JobRecords job = builder.On(cluster);
  const RailBundles bundles(job, cluster, MakeRankResources(job, cluster).value());
  DomainWays ways(bundles, 2, 0.5);
  std::vector<double> prices(bundles.rates().size(), 1);
  prices[static_cast<std::size_t>(bundles.UsesOf(0, 0, 1, 0)[0].resource)] = 10;
  ways.Price(prices);
  ASSERT_EQ(ways.door_count(), 4U);
  std::vector<double> door_costs(ways.door_count(), 0);
  ways.Find(door_costs);
  EXPECT_EQ(ways.From(0, 1).out, 1);
  EXPECT_EQ(ways.From(0, 1).in, 1);
  EXPECT_DOUBLE_EQ(ways.From(0, 1).cost, 2);
  EXPECT_EQ(ways.From(0, 0).cost, kNoWay);
  // Out of one rail and into another costs 1 each at the spine, and the preference.
  door_costs[ways.Door(1, 1)] = 3;
  ways.Find(door_costs);
  EXPECT_EQ(ways.From(0, 1).out, 1);
  EXPECT_EQ(ways.From(0, 1).in, 0);
  EXPECT_DOUBLE_EQ(ways.From(0, 1).cost, 4.5);
}

}  // namespace
}  // namespace reshard
