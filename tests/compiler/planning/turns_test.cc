#include "compiler/planning/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/planning/lowering.h"
#include "schedules/verifier.h"
#include "simulator/cost_model.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/plan_execution.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

struct Flow {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

// Senders, then receivers, each alone in its domain with a NIC of 48 GB/s: every flow is a tensor.
struct FlowJob {
  Cluster cluster;
  JobRecords job;
};

FlowJob MakeFlowJob(int senders, int receivers, const std::vector<Flow>& flows) {
  FlowJob made{UniformCluster(senders + receivers, 1, 0, 48), {}};
  JobRecordsBuilder builder;
  const auto name = [](std::size_t i) { return "flow." + std::to_string(100 + i); };
  for (std::size_t i = 0; i < flows.size(); ++i) {
    builder.AddTensor(name(i), DType::kU8, {flows[i].bytes});
  }
  for (int rank = 0; rank < senders + receivers; ++rank) {
    std::vector<TestBox> boxes;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const int end = rank < senders ? flows[i].from : senders + flows[i].to;
      if (end == rank) boxes.push_back({name(i), {0}, {flows[i].bytes}});
    }
    rank < senders ? builder.AddSource(boxes) : builder.AddDestination(boxes);
  }
  made.job = builder.On(made.cluster);
  return made;
}

// The traffic that punishes unscheduled sending (field notes, section 4): max-min sharing ends at
// 1.281 of the fullest port's time. In units of 400 MB, so that it takes half a second.
FlowJob MakePunishingJob() {
  const std::vector<std::vector<int>> flows{{0, 0, 16}, {0, 1, 8},  {0, 4, 8},  {1, 1, 8},
                                            {1, 4, 8},  {2, 1, 32}, {2, 4, 32}, {3, 1, 4},
                                            {3, 4, 16}, {4, 1, 8},  {4, 2, 2}};
  std::vector<Flow> made;
  for (const auto& flow : flows) made.push_back({flow[0], flow[1], flow[2] * 400'000'000LL});
  return MakeFlowJob(5, 5, made);
}

TEST(TakeTurns, PunishingTrafficEndsWithinTwoPercent) {
  const FlowJob flow_job = MakePunishingJob();
  const SimulatedCostModel cost_model(flow_job.cluster, DefaultConstants().value());
  const Result<Plan> plan = MakePlan(flow_job.job, flow_job.cluster, cost_model);
  ASSERT_TRUE(plan) << ToString(plan.error());
  EXPECT_TRUE(Verify(*plan));
  const double bound = 64 * 0.4 / 48;
  EXPECT_LT(cost_model.PredictSeconds(*plan).value(), 1.02 * bound);
}

// The same with a quarter of the default staging: turns come one after another, so that they need
// no more of it than the longest one.
TEST(TakeTurns, OneTurnLiesInStagingWhereTheOneBeforeDid) {
  FlowJob flow_job = MakePunishingJob();
  flow_job.job.options.staging_bytes = std::int64_t{512} << 20;
  const SimulatedCostModel cost_model(flow_job.cluster, DefaultConstants().value());
  const Result<Plan> plan = MakePlan(flow_job.job, flow_job.cluster, cost_model);
  ASSERT_TRUE(plan) << ToString(plan.error());
  EXPECT_TRUE(Verify(*plan));
  EXPECT_LT(cost_model.PredictSeconds(*plan).value(), 1.03 * 64 * 0.4 / 48);
}

// Turns by themselves, whatever the cost model would say to them: every byte arrives, and a rank
// has one slot of a kind however many turns there are.
TEST(TakeTurns, ShareSlotsAndKeepEveryByte) {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomDraws draws(seed);
    std::vector<Flow> flows;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        if (draws.Percent(80)) flows.push_back({i, j, draws.Between(1, 40) * 4'000});
      }
    }
    const FlowJob flow_job = MakeFlowJob(4, 4, flows);
    const Stages stages = MakeStages(flow_job.job, flow_job.cluster);
    const std::optional<Turns> turns =
        TakeTurns(stages.routes, stages.deliveries, stages.resources);
    if (!turns || turns->phases.bytes.size() < kManyPhases) continue;
    ++shared;
    Plan plan = stages.plan;
    const std::vector<RoundShape> shapes(
        turns->phases.bytes.size(), RoundShape{static_cast<std::int32_t>(draws.Between(1, 3)), 1});
    LowerRoutes(stages.deliveries, turns->routes, turns->phases,
                MakeTransferLinks(plan.job, turns->routes, turns->phases), shapes, plan);
    for (const RankSchedule& schedule : plan.schedules) EXPECT_LE(schedule.slots.size(), 1U);
    const Result<VerifierReport> verified = Verify(plan);
    EXPECT_TRUE(verified) << ToString(verified.error());
    EXPECT_EQ(ExecutePlan(plan, seed), "");
  }
  EXPECT_GT(shared, 20);
}

// On random traffic: in a turn nobody sends to two or receives from two, turns together last as
// long as the fullest NIC, and every byte keeps its way.
TEST(TakeTurns, MatchingsAsLongAsTheFullestNic) {
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomDraws draws(seed);
    const auto senders = static_cast<int>(draws.Between(1, 6));
    const auto receivers = static_cast<int>(draws.Between(1, 6));
    std::vector<Flow> flows;
    for (int i = 0; i < senders; ++i) {
      for (int j = 0; j < receivers; ++j) {
        if (draws.Percent(60)) flows.push_back({i, j, draws.Between(1, 40) * 10'000'000});
      }
    }
    if (flows.empty()) continue;
    const FlowJob flow_job = MakeFlowJob(senders, receivers, flows);
    const Stages stages = MakeStages(flow_job.job, flow_job.cluster);
    const std::optional<Turns> turns =
        TakeTurns(stages.routes, stages.deliveries, stages.resources);
    if (!turns) continue;
    ++taken;
    using Link = std::pair<RankIndex, RankIndex>;
    std::map<Link, std::int64_t> before;
    std::map<Link, std::int64_t> after;
    std::map<RankIndex, std::int64_t> of_port;
    std::map<std::int32_t, std::map<Link, std::int64_t>> by_turn;
    const auto link = [](const Routes& routes, const RoutedColumn& column) {
      return Link{column.exit, routes.paths[static_cast<std::size_t>(column.path)].hops[0].to};
    };
    for (const RoutedColumn& column : stages.routes.columns) {
      before[link(stages.routes, column)] += column.end - column.begin;
      of_port[column.exit] += column.end - column.begin;
      of_port[link(stages.routes, column).second] += column.end - column.begin;
    }
    for (const RoutedColumn& column : turns->routes.columns) {
      after[link(turns->routes, column)] += column.end - column.begin;
      by_turn[PhaseOf(column, turns->phases)][link(turns->routes, column)] +=
          column.end - column.begin;
    }
    EXPECT_EQ(before, after);
    std::int64_t together = 0;
    for (const auto& [turn, links] : by_turn) {
      std::set<RankIndex> busy;
      std::int64_t longest = 0;
      for (const auto& [ends, bytes] : links) {
        EXPECT_TRUE(busy.insert(ends.first).second);
        EXPECT_TRUE(busy.insert(ends.second).second);
        longest = std::max(longest, bytes);
      }
      together += longest;
    }
    std::int64_t fullest = 0;
    for (const auto& [rank, bytes] : of_port) fullest = std::max(fullest, bytes);
    EXPECT_LE(static_cast<double>(together), 1.01 * static_cast<double>(fullest));
  }
  EXPECT_GT(taken, 100);
}

// One source, three receivers that pass on what they get: what goes when is not free.
TEST(TakeTurns, NotWhereBytesAreRelayed) {
  const Cluster cluster = UniformCluster(4, 1, 0, 48);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {300'000'000});
  const TestBox whole{"w", {0}, {300'000'000}};
  builder.AddSource({whole});
  for (int i = 0; i < 3; ++i) builder.AddDestination({whole});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  EXPECT_FALSE(TakeTurns(stages.routes, stages.deliveries, stages.resources));
}

}  // namespace
}  // namespace reshard
