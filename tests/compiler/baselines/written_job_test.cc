#include "compiler/baselines/written_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

Job JobOf(int sources, int destinations, const std::string& canonical_json) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {8, 4});
  for (int i = 0; i < sources; ++i) builder.AddSource({Rows("w", 0, 8, 4)});
  for (int i = 0; i < destinations; ++i) builder.AddDestination({Rows("w", 0, 8, 4)});
  Job job;
  job.cluster = UniformCluster(1, sources + destinations, 400, 50);
  job.records = builder.On(job.cluster);
  job.canonical_json = canonical_json;
  return job;
}

std::vector<std::int64_t> Of(const WrittenSide& side, std::int64_t WrittenPlace::*what) {
  std::vector<std::int64_t> values;
  for (const WrittenPlace& place : side.places) values.push_back(place.*what);
  return values;
}

TEST(WrittenJobTest, MegatronRanksHaveStagesAndDataParallelGroups) {
  // tp fastest, then dp, then pp: tensor ranks 0 1 0 1, stages 0 0 0 0 1 1 1 1. Experts over 2:
  // expertTensor 1, so expert ranks alternate as tensor ranks do.
  const Job job = JobOf(8, 1, R"({"source": {"gpus": "0-7", "layout": {"megatron":
      {"tensor": 2, "pipeline": 2, "expert": 2, "expertTensor": 1}}}})");
  const WrittenSide side = ReadWrittenSide(job, "source").value();
  EXPECT_EQ(side.stages, 2);
  EXPECT_THAT(Of(side, &WrittenPlace::stage), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 0));
  const auto groups = Of(side, &WrittenPlace::dense_group);
  EXPECT_EQ(groups[0], groups[2]);
  EXPECT_NE(groups[0], groups[1]);
  EXPECT_EQ(groups[1], groups[3]);
  EXPECT_NE(groups[0], groups[4]);
  EXPECT_EQ(groups[8], -1);
  const auto experts = Of(side, &WrittenPlace::expert_group);
  EXPECT_EQ(experts[0], experts[2]);
  EXPECT_NE(experts[0], experts[1]);
  EXPECT_NE(experts[0], groups[0]);
}

TEST(WrittenJobTest, GroupsOfASideHaveStagesOfTheirOwn) {
  const Job job = JobOf(4, 1, R"({"source": [
      {"gpus": "0-1", "layout": {"vllm": {"pipeline": 2}}},
      {"gpus": "2-3", "layout": {"explicit": {}}}]})");
  const WrittenSide side = ReadWrittenSide(job, "source").value();
  EXPECT_EQ(side.stages, 3);
  EXPECT_THAT(Of(side, &WrittenPlace::stage), ElementsAre(0, 1, 2, 2, 0));
}

TEST(WrittenJobTest, WithoutTextRanksOfALayoutAreReplicas) {
  const WrittenSide side = ReadWrittenSide(JobOf(2, 1, "{}"), "source").value();
  EXPECT_EQ(side.stages, 1);
  EXPECT_EQ(side.places[0].dense_group, side.places[1].dense_group);
  EXPECT_EQ(side.places[2].dense_group, -1);
}

TEST(WrittenJobTest, ExpertsAreToldByTheirNames) {
  EXPECT_TRUE(IsExpert("model.layers.3.mlp.experts.7.up_proj.weight"));
  EXPECT_FALSE(IsExpert("model.layers.3.mlp.shared_experts.up_proj.weight"));
}

}  // namespace
}  // namespace reshard
