#include "tools/plan_loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace reshard
