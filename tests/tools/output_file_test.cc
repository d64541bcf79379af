#include "tools/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::HasSubstr;

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("output_file_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Contents(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::ptrdiff_t FileCount() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  }

  std::filesystem::path folder_;
};

TEST_F(OutputFile, WritesAllBytesAndReplacesAnOlderFile) {
  const std::string binary("a\0b\n", 4);
  ASSERT_TRUE(WriteWholeFile(Path("plan"), "older and longer"));
  const Result<std::int64_t> bytes = WriteWholeFile(Path("plan"), binary);
  ASSERT_TRUE(bytes) << ToString(bytes.error());
  EXPECT_EQ(*bytes, 4);
  EXPECT_EQ(Contents("plan"), binary);
  EXPECT_EQ(FileCount(), 1);  // nothing temporary stays
}

TEST_F(OutputFile, SaysWhyItCannotBeWritten) {
  const Result<std::int64_t> bytes = WriteWholeFile(Path("none/plan"), "x");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().fault, Fault::kInput);
  EXPECT_EQ(bytes.error().place, Path("none/plan"));
  EXPECT_THAT(bytes.error().reason, HasSubstr("No such file or directory"));
}

TEST_F(OutputFile, RefusesBadPathsBeforeTheWork) {
  ASSERT_TRUE(WriteWholeFile(Path("job.json"), "{}"));
  EXPECT_TRUE(CheckOutputPath(Path("plan"), Path("job.json")));
  const auto reason = [&](const std::string& path) {
    const Result<void> checked = CheckOutputPath(path, Path("job.json"));
    return checked ? "accepted" : checked.error().reason;
  };
  EXPECT_EQ(reason(""), "the output file has an empty name");
  EXPECT_EQ(reason(folder_.string()), "is a directory");
  EXPECT_EQ(reason("/dev/null"), "is no regular file");
  EXPECT_EQ(reason(Path("none/plan")), "its directory does not exist");
  EXPECT_EQ(reason(Path("job.json")), "is the input file");
  EXPECT_EQ(reason(folder_.string() + "/./job.json"), "is the input file");
}

TEST_F(OutputFile, NoOutputIsAnInputOrAnotherOutput) {
  ASSERT_TRUE(WriteWholeFile(Path("job.json"), "{}"));
  ASSERT_TRUE(WriteWholeFile(Path("constants.json"), "{}"));
  const std::vector<std::string> inputs = {Path("job.json"), "", Path("constants.json")};
  const auto reason = [&](const std::vector<std::string>& outputs) {
    const Result<void> checked = CheckOutputPaths(outputs, inputs);
    return checked ? "accepted" : checked.error().reason;
  };
  EXPECT_EQ(reason({}), "accepted");
  EXPECT_EQ(reason({Path("a"), "", "", Path("b")}), "accepted");
  EXPECT_EQ(reason({Path("a"), Path("constants.json")}), "is the input file");
  EXPECT_EQ(reason({Path("a"), Path("b"), Path("a")}), "is the name of two outputs");
  EXPECT_EQ(reason({Path("a"), folder_.string() + "/./a"}), "is the name of two outputs");
  // Also through a link to the folder.
  std::filesystem::create_directory_symlink(folder_, folder_ / "link");
  EXPECT_EQ(reason({Path("a"), Path("link/a")}), "is the name of two outputs");
}

}  // namespace
}  // namespace reshard
