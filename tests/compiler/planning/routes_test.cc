#include "compiler/planning/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::int64_t kMegabyte = 1'000'000;

TestBox Whole(const std::string& tensor, std::int64_t bytes) { return {tensor, {0}, {bytes}}; }

struct Traffic {
  std::vector<std::int64_t> network_out, network_in, nvlink_out, nvlink_in;  // bytes per rank
};

Traffic TrafficOf(const Stages& stages) {
  const std::size_t ranks = stages.plan.job.ranks.size();
  Traffic traffic;
  for (std::vector<std::int64_t>* bytes :
       {&traffic.network_out, &traffic.network_in, &traffic.nvlink_out, &traffic.nvlink_in}) {
    bytes->assign(ranks, 0);
  }
  for (const RoutedColumn& column : stages.routes.columns) {
    const auto add = [&](RankIndex from, RankIndex to) {
      const bool inside = stages.resources.domain[static_cast<std::size_t>(from)] ==
                          stages.resources.domain[static_cast<std::size_t>(to)];
      (inside ? traffic.nvlink_out : traffic.network_out)[static_cast<std::size_t>(from)] +=
          column.end - column.begin;
      (inside ? traffic.nvlink_in : traffic.network_in)[static_cast<std::size_t>(to)] +=
          column.end - column.begin;
    };
    if (column.exit != column.holder) add(column.holder, column.exit);
    for (const PathHop& hop : stages.routes.paths[static_cast<std::size_t>(column.path)].hops) {
      add(hop.parent == kFromSender ? column.exit : hop.from, hop.to);
    }
  }
  return traffic;
}

// Four sources in one domain, 4 replicas in another: each byte enters once, a quarter of 40 MB over
// each receiver's NIC, which hands it to the three others.
TEST(MakeRoutes, ReplicasTakeInAPartEachAndFanItOut) {
  const Cluster cluster = UniformCluster(2, 4, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {40 * kMegabyte});
  for (int i = 0; i < 4; ++i) builder.AddSource({Whole("w", 40 * kMegabyte)});
  for (int i = 0; i < 4; ++i) builder.AddDestination({Whole("w", 40 * kMegabyte)});
  const Traffic traffic = TrafficOf(MakeStages(builder.On(cluster), cluster));
  constexpr std::int64_t k = 10 * kMegabyte;
  EXPECT_THAT(traffic.network_out, ElementsAre(k, k, k, k, 0, 0, 0, 0));
  EXPECT_THAT(traffic.network_in, ElementsAre(0, 0, 0, 0, k, k, k, k));
  EXPECT_THAT(traffic.nvlink_out, ElementsAre(0, 0, 0, 0, 3 * k, 3 * k, 3 * k, 3 * k));
  EXPECT_THAT(traffic.nvlink_in, ElementsAre(0, 0, 0, 0, 3 * k, 3 * k, 3 * k, 3 * k));
}

// One source domain, three receiving ones of one GPU each: a third of 30 MB enters each first and
// goes on to the two others. The source sends 30, each receiver 20 and takes in 30.
TEST(MakeRoutes, TwoLevelTreesOverDomains) {
  const Cluster cluster = UniformCluster(4, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {30 * kMegabyte});
  builder.AddSource({Whole("w", 30 * kMegabyte)});
  for (int i = 0; i < 3; ++i) builder.AddDestination({Whole("w", 30 * kMegabyte)});
  const Traffic traffic = TrafficOf(MakeStages(builder.On(cluster), cluster));
  EXPECT_EQ(traffic.network_out[0], 30 * kMegabyte);
  for (std::size_t r = 1; r < 4; ++r) {
    EXPECT_NEAR(traffic.network_out[r], 20 * kMegabyte, 100);
    EXPECT_EQ(traffic.network_in[r], 30 * kMegabyte);
  }
}

// Rank 3 has no NIC; what only it needs enters by rank 2, which does not need it.
TEST(MakeRoutes, AReceiverWithoutANicIsReachedOverNvlink) {
  const std::vector<TestDomain> domains{UniformDomain(2, 400, 50), {2, 400, {{{0}, 50, 0}}}};
  const Cluster cluster = MakeTestCluster(domains);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {40 * kMegabyte});
  builder.AddSource({Whole("w", 40 * kMegabyte)});
  builder.AddSource({});
  builder.AddDestination({});
  builder.AddDestination({Whole("w", 40 * kMegabyte)});
  const Traffic traffic = TrafficOf(MakeStages(builder.On(cluster), cluster));
  EXPECT_THAT(traffic.network_in, ElementsAre(0, 0, 40 * kMegabyte, 0));
  EXPECT_THAT(traffic.nvlink_in[3], 40 * kMegabyte);
}

// Inside a domain two senders serve one receiver straight; one sender of eight receivers deals the
// bytes out and lets them pass it on: its NVLink carries each byte once, not eight times.
TEST(MakeRoutes, InsideADomainManyReceiversPassOn) {
  const Cluster cluster = UniformCluster(1, 9, 400, 50);
  JobRecordsBuilder few;
  few.AddTensor("w", DType::kU8, {80 * kMegabyte});
  few.AddSource({Whole("w", 80 * kMegabyte)});
  few.AddSource({Whole("w", 80 * kMegabyte)});
  few.AddDestination({Whole("w", 80 * kMegabyte)});
  EXPECT_THAT(TrafficOf(MakeStages(few.On(cluster), cluster)).nvlink_out,
              ElementsAre(40 * kMegabyte, 40 * kMegabyte, 0));
  JobRecordsBuilder many;
  many.AddTensor("w", DType::kU8, {80 * kMegabyte});
  many.AddSource({Whole("w", 80 * kMegabyte)});
  for (int i = 0; i < 8; ++i) many.AddDestination({Whole("w", 80 * kMegabyte)});
  const Traffic traffic = TrafficOf(MakeStages(many.On(cluster), cluster));
  EXPECT_EQ(traffic.nvlink_out[0], 80 * kMegabyte);
  for (std::size_t r = 1; r < 9; ++r) EXPECT_EQ(traffic.nvlink_out[r], 70 * kMegabyte);
}

// The tree of a column: every hop leaves where the bytes are, to a rank they have not reached.
void CheckPath(const Stages& stages, const RoutedColumn& column) {
  const DeliveryGroup& group = stages.deliveries.groups[static_cast<std::size_t>(column.group)];
  const std::vector<PathHop>& hops =
      stages.routes.paths[static_cast<std::size_t>(column.path)].hops;
  std::set<RankIndex> reached;
  const auto& resources = stages.resources;
  for (std::size_t h = 0; h < hops.size(); ++h) {
    RankIndex from = column.exit;
    if (hops[h].parent != kFromSender) {
      ASSERT_LT(hops[h].parent, static_cast<std::int32_t>(h));
      from = hops[h].from;
      EXPECT_EQ(hops[static_cast<std::size_t>(hops[h].parent)].to, from);
    }
    EXPECT_TRUE(reached.insert(hops[h].to).second) << "rank " << hops[h].to << " twice";
    EXPECT_NE(hops[h].to, column.holder);
    EXPECT_NE(hops[h].to, column.exit);
    const auto a = static_cast<std::size_t>(from);
    const auto b = static_cast<std::size_t>(hops[h].to);
    const auto& rates =
        resources.domain[a] == resources.domain[b] ? resources.nvlink_gbps : resources.network_gbps;
    EXPECT_GT(rates[a], 0) << "from rank " << a;
    EXPECT_GT(rates[b], 0) << "to rank " << b;
  }
  for (const RankIndex r : group.Receivers()) EXPECT_TRUE(reached.contains(r)) << "rank " << r;
  if (column.local_group == kNoLocalGroup) return;
  const auto local = static_cast<std::size_t>(column.local_group);
  for (const RankIndex r : stages.deliveries.groups[local].Receivers()) {
    EXPECT_TRUE(r == column.exit || reached.contains(r)) << "rank " << r;
  }
}

void CheckRoutes(const Stages& stages) {
  std::map<std::pair<std::int32_t, ClassIndex>, std::vector<std::pair<std::int64_t, std::int64_t>>>
      ranges;
  for (const RoutedColumn& column : stages.routes.columns) {
    EXPECT_LT(column.begin, column.end);
    EXPECT_EQ(column.begin % 16, 0);
    for (const std::int32_t group : {column.group, column.local_group}) {
      if (group == kNoLocalGroup) continue;
      ranges[{group, column.demand_class}].emplace_back(column.begin, column.end);
    }
    CheckPath(stages, column);
  }
  for (std::size_t g = 0; g < stages.deliveries.groups.size(); ++g) {
    for (const GroupClass& c : stages.deliveries.groups[g].classes) {
      auto& parts = ranges[{static_cast<std::int32_t>(g), c.demand_class}];
      std::ranges::sort(parts);
      std::int64_t at = 0;
      for (const auto& [begin, end] : parts) {
        EXPECT_EQ(begin, at);
        at = end;
      }
      EXPECT_EQ(at, stages.plan.demand.classes[static_cast<std::size_t>(c.demand_class)].bytes);
    }
  }
}

// 4 sources and 2 replicas in one domain: each source sends both its quarter, or one of them, which
// passes it on.
TEST(MakeRoutes, InsideADomainReceiversPassOnAllIfAskedTo) {
  const Cluster cluster = UniformCluster(1, 6, 400, 0);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {40 * kMegabyte});
  for (int i = 0; i < 4; ++i) builder.AddSource({Whole("w", 40 * kMegabyte)});
  for (int i = 0; i < 2; ++i) builder.AddDestination({Whole("w", 40 * kMegabyte)});
  Stages stages = MakeStages(builder.On(cluster), cluster);
  constexpr std::int64_t k = 10 * kMegabyte;
  EXPECT_THAT(TrafficOf(stages).nvlink_out, ElementsAre(2 * k, 2 * k, 2 * k, 2 * k, 0, 0));
  stages.routes =
      MakeRoutes(stages.deliveries, stages.pieces, stages.resources, stages.bound_seconds, nullptr,
                 Exits::kShared, LocalFanOut::kFromReceivers);
  EXPECT_THAT(TrafficOf(stages).nvlink_out, ElementsAre(k, k, k, k, 2 * k, 2 * k));
  EXPECT_THAT(TrafficOf(stages).nvlink_in, ElementsAre(0, 0, 0, 0, 4 * k, 4 * k));
}

TEST(MakeRoutes, EveryReceiverIsReachedOncePerByteOverLinksThatWork) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = seed % 2 == 0 ? 0 : 80;
    limits.long_factor = seed % 4 == 1 ? 10'000'019 : 4001;
    const RandomJob random = MakeRandomJob(seed, limits);
    CheckRoutes(MakeStages(random.job, random.cluster));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// On like machines nobody forwards what it does not need, and a byte enters a domain once.
TEST(MakeRoutes, OnPlainMachinesBytesEnterADomainOnce) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.plain_machine = true;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Stages stages = MakeStages(random.job, random.cluster);
    for (const RoutedColumn& column : stages.routes.columns) {
      std::map<DomainIndex, int> entered;
      for (const PathHop& hop : stages.routes.paths[static_cast<std::size_t>(column.path)].hops) {
        const RankIndex from = hop.parent == kFromSender ? column.exit : hop.from;
        const DomainIndex to = stages.resources.domain[static_cast<std::size_t>(hop.to)];
        if (stages.resources.domain[static_cast<std::size_t>(from)] == to) continue;
        EXPECT_EQ(++entered[to], 1);
      }
    }
  }
}

}  // namespace
}  // namespace reshard
