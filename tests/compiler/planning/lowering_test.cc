#include "compiler/planning/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/planning/zero_rounds.h"
#include "schedules/verifier.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/plan_execution.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMegabyte = 1'000'000;

TestBox Whole(const std::string& tensor, std::int64_t bytes) { return {tensor, {0}, {bytes}}; }

LoweringSummary Lower(const Stages& stages, const std::vector<RoundShape>& shapes, Plan& plan) {
  const TransferLinks links = MakeTransferLinks(stages.plan.job, stages.routes, stages.phases);
  plan = stages.plan;
  return LowerRoutes(stages.deliveries, stages.routes, stages.phases, links, shapes, plan);
}

// One source, one destination, each alone: a pack slot there, a receive slot here, four equal
// rounds of a quarter. The pack lane runs two instances ahead at most, the unpack lane lags as far.
TEST(LowerRoutes, OneTransferByHand) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {4 * kMegabyte});
  builder.AddSource({Whole("w", 4 * kMegabyte)});
  builder.AddDestination({Whole("w", 4 * kMegabyte)});
  Plan plan;
  const LoweringSummary summary = Lower(MakeStages(builder.On(cluster), cluster), {{4, 0}}, plan);
  EXPECT_EQ(plan.round_count, 4);
  ASSERT_EQ(plan.columns.size(), 1U);
  EXPECT_EQ(plan.columns[0].end - plan.columns[0].begin, 4 * kMegabyte);
  EXPECT_EQ(plan.profiles[static_cast<std::size_t>(plan.columns[0].profile)].weights.size(), 4U);
  ASSERT_EQ(plan.transfers.size(), 1U);
  EXPECT_EQ(plan.transfers[0], (Transfer{0, 1, 0, {0, 0, 1}, {0, 0, 1}}));
  ASSERT_EQ(plan.schedules[0].slots.size(), 1U);
  EXPECT_EQ(plan.schedules[0].slots[0].kind, SlotKind::kPack);
  EXPECT_THAT(plan.schedules[0].waits, ElementsAre(Wait{Lane::kExchange, Lane::kPack, 0},
                                                   Wait{Lane::kPack, Lane::kExchange, 2}));
  const Slot& receive = plan.schedules[1].slots[0];
  EXPECT_EQ(receive.kind, SlotKind::kReceive);
  EXPECT_TRUE(receive.items[0].unpack);
  // A quarter, the rounding of three chunks that the last one takes, and alignment.
  EXPECT_GE(receive.capacity, kMegabyte);
  EXPECT_LE(receive.capacity, kMegabyte + 64);
  EXPECT_THAT(plan.schedules[1].waits, ElementsAre(Wait{Lane::kUnpack, Lane::kExchange, 0},
                                                   Wait{Lane::kExchange, Lane::kUnpack, 2}));
  EXPECT_EQ(StagingBytesMax(plan), 2 * receive.capacity);
  EXPECT_EQ(summary.last_phase_staging_bytes, 2 * receive.capacity);
  EXPECT_EQ(summary.earlier_staging_bytes, 0);
}

// Fan-out: the head passes on from where it received, a round later.
TEST(LowerRoutes, FanOutLeavesFromTheReceiveSlot) {
  const Cluster cluster = UniformCluster(2, 2, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {4 * kMegabyte});
  builder.AddSource({Whole("w", 4 * kMegabyte)});
  builder.AddSource({Whole("w", 4 * kMegabyte)});
  builder.AddDestination({Whole("w", 4 * kMegabyte)});
  builder.AddDestination({Whole("w", 4 * kMegabyte)});
  Plan plan;
  Lower(MakeStages(builder.On(cluster), cluster), {{3, 0}}, plan);
  EXPECT_EQ(plan.round_count, 4);  // three, and one more for the last fan-out
  int onward = 0;
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.from < 2) continue;
    ++onward;
    EXPECT_EQ(transfer.lag, 1);
    const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.from)]
                           .slots[static_cast<std::size_t>(transfer.source.slot)];
    EXPECT_EQ(slot.kind, SlotKind::kReceive);
  }
  EXPECT_EQ(onward, 2);
}

// A class that a rank has and needs elsewhere in its memory is moved there, not sent.
TEST(LowerRoutes, OwnBytesAreMovedLocally) {
  const Cluster cluster = UniformCluster(1, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kMegabyte});
  builder.AddBoth({Whole("w", kMegabyte)}, {Whole("w", kMegabyte)});
  Plan plan;
  Lower(MakeStages(builder.On(cluster), cluster), {{2, 1}}, plan);
  EXPECT_TRUE(plan.transfers.empty());
  EXPECT_EQ(plan.round_count, 4);
  EXPECT_THAT(plan.schedules[0].local_moves, ElementsAre(LocalMove{0, 0}));
  EXPECT_EQ(StagingBytesMax(plan), 0);
}

TEST(LowerRoutes, NothingToDoIsNoRound) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {16});
  builder.AddSource({Whole("w", 16)});
  builder.AddDestination({});
  Plan plan;
  Lower(MakeStages(builder.On(cluster), cluster), {{1, 0}}, plan);
  EXPECT_EQ(plan.round_count, 0);
  EXPECT_TRUE(plan.columns.empty());
}

std::vector<RoundShape> RandomShapes(RandomDraws& draws, std::size_t phases) {
  std::vector<RoundShape> shapes;
  for (std::size_t p = 0; p < phases; ++p) {
    shapes.push_back({static_cast<std::int32_t>(draws.Between(1, draws.Percent(20) ? 40 : 6)),
                      static_cast<std::int32_t>(draws.Below(4))});
  }
  return shapes;
}

// Whatever the shape of rounds, every byte arrives and the verifier agrees.
TEST(LowerRoutes, EveryShapeOfRoundsKeepsEveryPromise) {
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 40;
    limits.long_factor = seed % 10 == 0 ? 20'011 : 499;
    if (seed % 10 == 0) limits.tensors = 2;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Stages stages = MakeStages(random.job, random.cluster);
    RandomDraws draws(seed);
    Plan plan;
    Lower(stages, RandomShapes(draws, stages.phases.bytes.size()), plan);
    PlaceZeros(plan);
    plan.job.options.staging_bytes = StagingBytesMax(plan);
    const Result<VerifierReport> verified = Verify(plan);
    EXPECT_TRUE(verified) << ToString(verified.error());
    if (verified) {
      EXPECT_EQ(verified->staging_bytes_max, StagingBytesMax(plan));
    }
    EXPECT_EQ(ExecutePlan(plan, seed), "");
  }
}

// Lowering again what was lowered before leaves nothing of the first time.
TEST(LowerRoutes, ForgetsTheShapeBefore) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob random = MakeRandomJob(seed);
    const Stages stages = MakeStages(random.job, random.cluster);
    const TransferLinks links = MakeTransferLinks(stages.plan.job, stages.routes, stages.phases);
    const std::vector<RoundShape> shapes(stages.phases.bytes.size(), {3, 1});
    Plan once = stages.plan;
    LowerRoutes(stages.deliveries, stages.routes, stages.phases, links, shapes, once);
    Plan twice = stages.plan;
    LowerRoutes(stages.deliveries, stages.routes, stages.phases, links,
                std::vector<RoundShape>(shapes.size(), {9, 2}), twice);
    LowerRoutes(stages.deliveries, stages.routes, stages.phases, links, shapes, twice);
    EXPECT_EQ(once, twice);
  }
}

}  // namespace
}  // namespace reshard
