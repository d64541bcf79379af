#include "tools/plan_loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/job/job.h"
#include "schedules/plan_codec.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

class PlanLoading : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("plan_loading_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

TEST_F(PlanLoading, TellsAJobByItsFirstCharacter) {
  EXPECT_EQ(HoldsJson(Write("job", "{}")).value(), true);
  EXPECT_EQ(HoldsJson(Write("indented", " \n\t {")).value(), true);
  EXPECT_EQ(HoldsJson(Write("plan", "reshard")).value(), false);
  EXPECT_EQ(HoldsJson(Write("list", "[]")).value(), false);
}

TEST_F(PlanLoading, SaysWhyAFileHasNoFirstCharacter) {
  const Result<bool> empty = HoldsJson(Write("empty", " \n"));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().reason, "is empty");
  const Result<bool> missing = HoldsJson((folder_ / "none").string());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().reason, HasSubstr("No such file"));
  EXPECT_FALSE(HoldsJson(folder_.string()));
}

// Whole as a file, but both ranks sit on GPU 0: the verifier's word, under the file's name.
TEST_F(PlanLoading, NamesTheFileWhereAPlanIsUnsound) {
  Plan plan;
  plan.job.ranks.resize(2);
  plan.schedules.resize(2);
  const std::string path = (folder_ / "unsound.reshard").string();
  const Result<std::int64_t> written = WritePlanFile(plan, path);
  ASSERT_TRUE(written) << ToString(written.error());
  const Result<LoadedPlan> loaded = LoadPlan(path);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().place, HasSubstr(path));
  EXPECT_EQ(loaded.error().fault, Fault::kInput);
}

TEST_F(PlanLoading, HoldsTheRecordsAgainstTheEmbeddedJob) {
  const std::string path = Write("job.json", R"({
      "cluster": {"domains": [{"type": "dgx-h100", "gpus": 2}]},
      "model": {"w": {"shape": [4], "dtype": "U8"}},
      "source": {"gpus": "0", "layout": {"explicit": {
          "meshes": {"one": {"axes": [["x", 1]]}},
          "tensors": [{"match": "*", "mesh": "one", "placements": ["R"]}]}}},
      "destination": {"gpus": "1", "layout": {"explicit": {
          "meshes": {"one": {"axes": [["x", 1]]}},
          "tensors": [{"match": "*", "mesh": "one", "placements": ["R"]}]}}}})");
  const Result<Job> job = ReadJob(path);
  ASSERT_TRUE(job) << ToString(job.error());
  Plan plan;
  plan.job_json = job->canonical_json;
  plan.job = job->records;
  EXPECT_TRUE(CheckEmbeddedJob(plan, "p"));
  const Result<Cluster> cluster = EmbeddedCluster(plan, "p");
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  EXPECT_EQ(cluster->gpus.size(), 2);

  plan.job.options.max_peers = 3;
  const Result<void> checked = CheckEmbeddedJob(plan, "p");
  ASSERT_FALSE(checked);
  EXPECT_EQ(ToString(checked.error()),
            "p: its records are not those of the job it embeds; compile the job again");

  plan.job_json = "{";
  EXPECT_THAT(CheckEmbeddedJob(plan, "p").error().place, HasSubstr("p: embedded job"));
}

}  // namespace
}  // namespace reshard
