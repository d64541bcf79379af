#include "compiler/baselines/bridge_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Exported {
  std::int64_t host_turns = 0;
  std::int64_t collectives = 0;
  std::vector<TrafficPhase> phases;  // of one bucket
};

// All that `records` have, with the ranks of `stages` pipeline stages of equal size.
Exported Export(const JobRecords& records, std::int64_t stages) {
  const Plan plan = MakeUnplanned(records).value();
  WrittenSide source;
  source.stages = stages;
  source.places.resize(plan.job.ranks.size());
  std::int64_t sources = 0;
  for (const Rank& rank : plan.job.ranks) sources += rank.source_layout == kNoLayout ? 0 : 1;
  for (std::size_t rank = 0; rank < source.places.size(); ++rank) {
    source.places[rank].stage =
        std::min(stages - 1, static_cast<std::int64_t>(rank) * stages / sources);
  }
  BridgeExport bridge(plan, source);
  for (const StackedTensors& stack : StackExperts(plan.job, PlaceTensors(plan.job))) {
    bridge.Add(stack);
  }
  return {bridge.host_turns(), bridge.collectives(), bridge.PhasesOf(1)};
}

TEST(BridgeExportTest, StagesBroadcastThenPartsAreGathered) {
  // Two stages of two tensor-parallel ranks, a tensor of 128 bytes each.
  JobRecordsBuilder builder;
  std::vector<TestBox> needed;
  for (int stage = 0; stage < 2; ++stage) {
    const std::string name = "layers." + std::to_string(stage) + ".w";
    builder.AddTensor(name, DType::kF32, {8, 4});
    for (int i = 0; i < 2; ++i) builder.AddSource(ChunkedRows(name, 8, 4, 2, i));
    needed.push_back(Rows(name, 0, 8, 4));
  }
  builder.AddDestination(needed);
  const Cluster cluster = UniformCluster(5, 1, 400, 50);
  const Exported exported = Export(builder.On(cluster), 2);
  EXPECT_EQ(exported.host_turns, 2);
  EXPECT_EQ(exported.collectives, 4);
  ASSERT_THAT(exported.phases, SizeIs(2));
  // Half a tensor from position to position, either way.
  EXPECT_THAT(exported.phases[0].flows,
              ElementsAre(TrafficFlow{0, 2, 64, 1, 0}, TrafficFlow{1, 3, 64, 1, 0},
                          TrafficFlow{2, 0, 64, 1, 0}, TrafficFlow{3, 1, 64, 1, 0}));
  // Every stage gathers both tensors.
  EXPECT_THAT(exported.phases[1].flows,
              ElementsAre(TrafficFlow{0, 1, 128, 1, 0}, TrafficFlow{1, 0, 128, 1, 0},
                          TrafficFlow{2, 3, 128, 1, 0}, TrafficFlow{3, 2, 128, 1, 0}));
  EXPECT_FALSE(exported.phases[0].is_send_receive);
  EXPECT_EQ(exported.phases[0].launches, 0);
}

TEST(BridgeExportTest, ReplicasGatherAmongThemselves) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 4; ++i) builder.AddSource(ChunkedRows("w", 8, 4, 2, i % 2));
  builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(5, 1, 400, 50);
  const Exported exported = Export(builder.On(cluster), 1);
  EXPECT_EQ(exported.host_turns, 1);
  EXPECT_EQ(exported.collectives, 1);
  ASSERT_THAT(exported.phases, SizeIs(1));
  EXPECT_THAT(exported.phases[0].flows,
              ElementsAre(TrafficFlow{0, 1, 64, 1, 0}, TrafficFlow{1, 0, 64, 1, 0},
                          TrafficFlow{2, 3, 64, 1, 0}, TrafficFlow{3, 2, 64, 1, 0}));
}

TEST(BridgeExportTest, AGatherBringsAnExpertOfEachRank) {
  // gate and up of four experts on two ranks of one stage: one parameter for two experts, but a
  // gather for each of the two names.
  JobRecordsBuilder builder;
  std::vector<std::vector<TestBox>> held(2);
  std::vector<TestBox> needed;
  for (const char* end : {"gate_proj", "up_proj"}) {
    for (int expert = 0; expert < 4; ++expert) {
      const std::string name = "a.experts." + std::to_string(expert) + "." + end + ".weight";
      builder.AddTensor(name, DType::kF32, {8, 4});
      held[static_cast<std::size_t>(expert / 2)].push_back(Rows(name, 0, 8, 4));
      needed.push_back(Rows(name, 0, 8, 4));
    }
  }
  for (const auto& boxes : held) builder.AddSource(boxes);
  builder.AddDestination(needed);
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Exported exported = Export(builder.On(cluster), 1);
  EXPECT_EQ(exported.host_turns, 2);
  EXPECT_EQ(exported.collectives, 4);
}

TEST(BridgeExportTest, WhatAllRanksHaveTakesNoCollective) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  builder.AddDestination({Rows("w", 0, 8, 4)});
  const Cluster cluster = UniformCluster(1, 3, 400, 50);
  const Exported exported = Export(builder.On(cluster), 1);
  EXPECT_EQ(exported.host_turns, 0);
  EXPECT_EQ(exported.collectives, 0);
  EXPECT_THAT(exported.phases, IsEmpty());
}

}  // namespace
}  // namespace reshard
