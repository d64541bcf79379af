// Jobs as files in a folder of their own: eight GPUs in two domains, two tensors.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/job/job.h"

namespace reshard {

class JobFixture : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("job_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    // Two NVLink domains of four GPUs.
    Write("cluster.json",
          R"json({"domains": [{"type": "gb200-nvl72", "gpus": 4, "count": 2}]})json");
    Write("model.json", R"json({"b": {"shape": [8, 2], "dtype": "BF16"},
                                "a": {"shape": [4], "dtype": "F32"}})json");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string Path(const std::string& name) { return (folder_ / name).string(); }

  static std::string Rows(int ranks) {  // all tensors by rows over all ranks
    return R"json({"explicit": {"meshes": {"m": {"axes": [["x", )json" + std::to_string(ranks) +
           R"json(]]}}, "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}})json";
  }
  static std::string Side(const std::string& gpus, const std::string& layout) {
    return "{\"gpus\": \"" + gpus + "\", \"layout\": " + layout + "}";
  }
  static std::string JobText(const std::string& source, const std::string& destination,
                             const std::string& options = "{}") {
    return R"json({"cluster": "cluster.json", "model": "model.json", "source": )json" + source +
           ", \"destination\": " + destination + ", \"options\": " + options + "}";
  }

  Result<Job> Read(const std::string& text,
                   const std::vector<std::pair<std::string, std::string>>& settings = {}) {
    Write("job.json", text);
    return ReadJob(Path("job.json"), settings);
  }
  Job MustRead(const std::string& text) {
    Result<Job> job = Read(text);
    if (!job) {
      ADD_FAILURE() << ToString(job.error());
      return {};
    }
    return std::move(*job);
  }
  // The one line, without the folder's path.
  std::string Refusal(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& settings = {}) {
    const Result<Job> job = Read(text, settings);
    if (job) return "accepted";
    EXPECT_EQ(job.error().fault, Fault::kInput);
    std::string line = ToString(job.error());
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = line.find(prefix); at != std::string::npos; at = line.find(prefix)) {
      line.erase(at, prefix.size());
    }
    return line;
  }

  std::filesystem::path folder_;
};

}  // namespace reshard
