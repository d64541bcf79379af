#include "foundation/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace reshard {
namespace {

using ::testing::HasSubstr;

TEST(ReadTextFileTest, ReadsUpToTheLimit) {
  const std::string path = ::testing::TempDir() + "/text_file_test";
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(*ReadTextFile(path, 10), "0123456789");
  EXPECT_EQ(ToString(ReadTextFile(path, 9).error()), path + ": larger than 9 bytes");
  std::filesystem::remove(path);
  EXPECT_THAT(ToString(ReadTextFile(path, 9).error()), HasSubstr("cannot open"));
  EXPECT_THAT(ToString(ReadTextFile(::testing::TempDir(), 9).error()), HasSubstr("is a directory"));
}

// A device has no size that could be asked beforehand.
TEST(ReadTextFileTest, StopsReadingWhatHasNoEnd) {
  EXPECT_THAT(ToString(ReadTextFile("/dev/zero", 1 << 20).error()), HasSubstr("larger than"));
}

}  // namespace
}  // namespace reshard
