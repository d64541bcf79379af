#include "compiler/planning/door_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

constexpr double kHop = 0.5;

// What there is to move, and the doors, domain by domain and there rail by rail.
struct Doors {
  Doors(const JobRecords& job, const Cluster& cluster)
      : demand(BuildDemand(job).value()),
        resources(MakeRankResources(job, cluster).value()),
        deliveries(FindDeliveries(job, demand, BuildPrograms(job, demand), resources)),
        bundles(job, cluster, resources),
        ways(bundles, resources.domains.size(), 0),
        costs(deliveries, demand, resources, bundles, ways, kHop) {}

  std::vector<GroupTraffic> Parts() const {
    const std::vector<GroupTraffic> types = FindGroupTraffic(deliveries, demand, resources);
    EXPECT_EQ(types.size(), 1U);
    return costs.Parts(types[0]);
  }

  Demand demand;
  RankResources resources;
  Deliveries deliveries;
  RailBundles bundles;
  DomainWays ways;
  DoorCosts costs;
};

// Domain 0 holds 8 bytes on rail 0, all of it or by halves on both rails, and rank 2 in domain 1
// needs them; domain 2 has two ranks that do not, domain 3 one. Rails do not meet.
Doors MakeDoors(double nvlink_gbps, bool by_halves) {
  std::vector<TestDomain> domains(3, UniformDomain(2, nvlink_gbps, 50));
  domains.push_back(UniformDomain(1, 0, 50));
  Cluster cluster = MakeTestCluster(domains);
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {8});
  builder.AddSource({{"w", {0}, {by_halves ? 4 : 8}}});
  if (by_halves) {
    builder.AddSource({{"w", {4}, {4}}});
  } else {
    builder.AddSource({});
  }
  builder.AddDestination({{"w", {0}, {8}}});
  for (int i = 0; i < 4; ++i) builder.AddSource({});
  return Doors(builder.On(cluster), cluster);
}

TEST(DoorCosts, AnNvlinkHopCostsWhereNobodyHasOrWantsTheBytes) {
  const Doors doors = MakeDoors(400, false);
  const std::vector<GroupTraffic> parts = doors.Parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(doors.costs.Of(parts[0]), ElementsAre(0, kHop, 0, kHop, kHop, kHop, kHop, kNoWay));
}

// Each rail has the half of what leaves by it.
TEST(DoorCosts, WhatSomeClassesHaveCostsLess) {
  const Doors doors = MakeDoors(400, true);
  const std::vector<GroupTraffic> parts = doors.Parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(doors.costs.Of(parts[0]),
              ElementsAre(kHop / 2, kHop / 2, 0, kHop, kHop, kHop, kHop, kNoWay));
}

// Without NVLink there are the doors of those that have or want the bytes, and of a rank alone.
TEST(DoorCosts, WithoutNvlinkOtherDoorsAreNoWay) {
  const Doors doors = MakeDoors(0, false);
  const std::vector<GroupTraffic> parts = doors.Parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(doors.costs.Of(parts[0]),
              ElementsAre(0, kNoWay, 0, kNoWay, kNoWay, kNoWay, kHop, kNoWay));
}

TEST(DoorCosts, ClassesThatAreStuckAtDifferentDoorsArePartsOfTheirOwn) {
  const Doors doors = MakeDoors(0, true);
  const std::vector<GroupTraffic> parts = doors.Parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].bytes, 4);
  EXPECT_EQ(parts[1].bytes, 4);
  EXPECT_EQ(doors.costs.Of(parts[0])[1], kNoWay);
  EXPECT_EQ(doors.costs.Of(parts[1])[0], kNoWay);
  EXPECT_EQ(doors.costs.Of(parts[1])[1], 0);
}

}  // namespace
}  // namespace reshard
