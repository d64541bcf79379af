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
  // Each stage gives the other its tensor before rank 0 broadcasts both, to all ranks.
  JobRecordsBuilder builder;
  builder.AddTensor("mlp.shared_experts.down_proj.weight", DType::kF32, {8, 4});
  builder.AddTensor(kBulk, DType::kF32, {8, 4});
  builder.AddTensor("norm", DType::kF32, {8, 4});
  builder.AddSource({Rows("mlp.shared_experts.down_proj.weight", 0, 8, 4), Rows(kBulk, 0, 8, 4)});
  builder.AddSource({Rows("norm", 0, 8, 4)});
  builder.AddDestination({Rows("mlp.shared_experts.down_proj.weight", 0, 8, 4),
                          Rows(kBulk, 0, 8, 4), Rows("norm", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Plan plan =
      MakeBaselinePlan("nemo", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-1", "layout": {"megatron": {"pipeline": 2}}}})");
  const std::vector<TrafficStream>& streams = plan.traffic->streams;
  ASSERT_THAT(streams, SizeIs(3));
  ASSERT_THAT(streams[0].phases, SizeIs(1));
  EXPECT_THAT(streams[0].phases[0].flows, ElementsAre(TrafficFlow{0, 2, 128, 1, 0}));
  EXPECT_EQ(streams[0].phases[0].host_synchronizations, 1);
  EXPECT_EQ(streams[1].turn, 1);
  ASSERT_THAT(streams[1].phases, SizeIs(2));
  EXPECT_EQ(streams[1].phases[0].launches, 2);
  EXPECT_THAT(streams[1].phases[1].flows,
              ElementsAre(TrafficFlow{0, 1, 128, 1, 0}, TrafficFlow{1, 0, 128, 1, 0}));
  EXPECT_EQ(streams[2].turn, 2);
  ASSERT_THAT(streams[2].phases, SizeIs(1));
  std::int64_t arrived = 0;
  for (const TrafficFlow& flow : streams[2].phases[0].flows) {
    if (flow.to == 2) arrived += flow.bytes;
  }
  EXPECT_EQ(arrived, 256);
  EXPECT_THAT(plan.traffic->omissions, IsEmpty());
}

TEST(NemoPlannerTest, StagesTakeTurnsAtTwoStreams) {
  JobRecordsBuilder builder;
  std::vector<TestBox> needed;
  for (int stage = 0; stage < 3; ++stage) {
    const std::string name = "layers." + std::to_string(stage) + ".mlp.up_proj.weight";
    builder.AddTensor(name, DType::kF32, {8, 4});
    builder.AddSource({Rows(name, 0, 8, 4)});
    needed.push_back(Rows(name, 0, 8, 4));
  }
  builder.AddDestination(needed);
  const Cluster cluster = UniformCluster(1, 4, 400, 50);
  const Plan plan =
      MakeBaselinePlan("nemo", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-2", "layout": {"megatron": {"pipeline": 3}}}})");
  const std::vector<TrafficStream>& streams = plan.traffic->streams;
  ASSERT_THAT(streams, SizeIs(2));
  EXPECT_EQ(streams[0].turn, streams[1].turn);
  EXPECT_THAT(streams[0].phases, SizeIs(2));
  EXPECT_THAT(streams[1].phases, SizeIs(1));
  EXPECT_EQ(streams[1].phases[0].flows[0].from, 1);
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
