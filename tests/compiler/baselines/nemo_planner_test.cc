#include "compiler/baselines/nemo_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kBulk = "mlp.up_proj.weight";

const std::vector<TrafficPhase>& Phases(const Plan& plan) {
  return plan.traffic->streams[0].phases;
}

// `kBulk`, [rows, columns], chunked by rows over `sources` and `destinations`, of `replicas` each.
Plan PlanRows(std::int64_t rows, std::int64_t sources, std::int64_t source_replicas,
              std::int64_t destinations, std::int64_t destination_replicas) {
  JobRecordsBuilder builder;
  builder.AddTensor(kBulk, DType::kF32, {rows, 4});
  for (std::int64_t i = 0; i < sources * source_replicas; ++i) {
    builder.AddSource(ChunkedRows(kBulk, rows, 4, sources, i % sources));
  }
  for (std::int64_t i = 0; i < destinations * destination_replicas; ++i) {
    builder.AddDestination(ChunkedRows(kBulk, rows, 4, destinations, i % destinations));
  }
  const Cluster cluster = UniformCluster(1, 16, 400, 50);
  return MakeBaselinePlan("nemo", builder.On(cluster), cluster);
}

TEST(NemoPlannerTest, EightReplicasSendAStripeEachAndTheSetGathers) {
  // Known output: (8)[R] -> (8)[R] on (8, 4), 4 elements from each of 8 sources.
  const Plan plan = PlanRows(8, 1, 8, 1, 8);
  ASSERT_THAT(Phases(plan), SizeIs(2));
  EXPECT_THAT(Phases(plan)[0].flows, AllOf(SizeIs(8), Each(Field(&TrafficFlow::bytes, 4 * 4))));
  for (RankIndex i = 0; i < 8; ++i) {
    EXPECT_EQ(Phases(plan)[0].flows[static_cast<std::size_t>(i)].from, i);
    EXPECT_EQ(Phases(plan)[0].flows[static_cast<std::size_t>(i)].to, 8 + i);
  }
  // A ring: every member gets the seven other stripes from the one before it.
  EXPECT_THAT(Phases(plan)[1].flows, AllOf(SizeIs(8), Each(Field(&TrafficFlow::bytes, 7 * 16)),
                                           Each(Field(&TrafficFlow::hop, 0))));
}

TEST(NemoPlannerTest, WithoutASetOfSeveralRanksNothingIsStriped) {
  // Known output: (4)[S0] -> (2)[S0] on (10, 4), rows 3, 3, 3, 1 to 5, 5; v2 does not apply.
  const Plan plan = PlanRows(10, 4, 1, 2, 1);
  ASSERT_THAT(Phases(plan), SizeIs(1));
  EXPECT_THAT(Phases(plan)[0].flows,
              ElementsAre(TrafficFlow{0, 4, 48, 1, 0}, TrafficFlow{1, 4, 32, 1, 0},
                          TrafficFlow{1, 5, 16, 1, 0}, TrafficFlow{2, 5, 48, 1, 0},
                          TrafficFlow{3, 5, 16, 1, 0}));
}

TEST(NemoPlannerTest, ASetThatDoesNotDivideItsRowsGetsThemOverOneOfIt) {
  const Plan plan = PlanRows(8, 1, 2, 1, 3);
  ASSERT_THAT(Phases(plan), SizeIs(2));
  EXPECT_THAT(Phases(plan)[0].flows, ElementsAre(TrafficFlow{0, 2, 128, 1, 0}));
  EXPECT_THAT(Phases(plan)[1].flows,
              ElementsAre(TrafficFlow{2, 3, 128, 1, 0}, TrafficFlow{3, 4, 128, 1, 1}));
  EXPECT_GT(Phases(plan)[1].chunk_bytes, 0);
}

TEST(NemoPlannerTest, WhatIsStridedOnBothEndsIsNotStriped) {
  // Columns 2 x 6 to 3 x 4: the middle set meets columns 4-6 and 6-8, strided on both ends.
  JobRecordsBuilder builder;
  builder.AddTensor(kBulk, DType::kF32, {8, 12});
  for (std::int64_t i = 0; i < 2; ++i) builder.AddSource({{kBulk, {0, 6 * i}, {8, 6}}});
  for (std::int64_t i = 0; i < 6; ++i) builder.AddDestination({{kBulk, {0, i % 3 * 4}, {8, 4}}});
  const Cluster cluster = UniformCluster(1, 8, 400, 50);
  const Plan plan = MakeBaselinePlan("nemo", builder.On(cluster), cluster);
  ASSERT_THAT(Phases(plan), SizeIs(2));
  EXPECT_THAT(Phases(plan)[0].flows,
              ElementsAre(TrafficFlow{0, 2, 128, 1, 0}, TrafficFlow{0, 3, 64, 1, 0},
                          TrafficFlow{1, 3, 64, 1, 0}, TrafficFlow{1, 4, 128, 1, 0}));
  EXPECT_THAT(Phases(plan)[1].flows, SizeIs(3));
}

TEST(NemoPlannerTest, AMemberThatHoldsItsStripeKeepsIt) {
  JobRecordsBuilder builder;
  builder.AddTensor(kBulk, DType::kF32, {8, 4});
  builder.AddSource({Rows(kBulk, 0, 8, 4)});
  builder.AddBoth({Rows(kBulk, 0, 8, 4)}, {Rows(kBulk, 0, 8, 4)});
  builder.AddDestination({Rows(kBulk, 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("nemo", builder.On(cluster), cluster);
  EXPECT_THAT(Phases(plan)[0].flows, ElementsAre(TrafficFlow{0, 2, 64, 1, 0}));
  EXPECT_THAT(Phases(plan)[0].copies, ElementsAre(TrafficCopy{1, 0, 64}));
}

TEST(NemoPlannerTest, TheRestIsBroadcastFromRankZeroAfterwards) {
  // Rank 0 lacks the norm: it is gathered to it, over whatever stages the job has.
  JobRecordsBuilder builder;
  builder.AddTensor("mlp.shared_experts.up_proj.weight", DType::kF32, {8, 4});
  builder.AddTensor(kBulk, DType::kF32, {8, 4});
  builder.AddTensor("norm", DType::kF32, {8, 4});
  builder.AddSource({Rows("mlp.shared_experts.up_proj.weight", 0, 8, 4), Rows(kBulk, 0, 8, 4)});
  builder.AddSource({Rows("norm", 0, 8, 4)});
  builder.AddDestination({Rows("mlp.shared_experts.up_proj.weight", 0, 8, 4), Rows(kBulk, 0, 8, 4),
                          Rows("norm", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan =
      MakeBaselinePlan("nemo", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-1", "layout": {"megatron": {"pipeline": 2}}}})");
  ASSERT_THAT(Phases(plan), SizeIs(4));
  EXPECT_THAT(Phases(plan)[0].flows, ElementsAre(TrafficFlow{0, 2, 128, 1, 0}));
  EXPECT_EQ(Phases(plan)[0].host_synchronizations, 1);
  EXPECT_EQ(Phases(plan)[1].host_synchronizations, 1);  // of the norm's collective
  EXPECT_THAT(Phases(plan)[2].flows, ElementsAre(TrafficFlow{1, 0, 128, 1, 0}));
  EXPECT_THAT(Phases(plan)[3].flows, ElementsAre(TrafficFlow{0, 2, 256, 1, 0}));
  EXPECT_THAT(plan.traffic->omissions, IsEmpty());
}

TEST(NemoPlannerTest, SaysWhatItCannotExpress) {
  JobRecordsBuilder builder;
  builder.AddTensor(kBulk, DType::kF32, {8, 4});
  builder.AddSource({Rows(kBulk, 0, 2, 4), Rows(kBulk, 4, 6, 4)});
  builder.AddSource({Rows(kBulk, 2, 4, 4), Rows(kBulk, 6, 8, 4)});
  builder.AddDestination({Rows(kBulk, 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan = MakeBaselinePlan("nemo", builder.On(cluster), cluster);
  EXPECT_THAT(plan.traffic->omissions,
              ElementsAre(Omission{0, 1, "on the source a rank has several boxes of it", 128}));
}

}  // namespace
}  // namespace reshard
