#include "compiler/layout/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace reshard {
namespace {

using testing::HasSubstr;

// The header, or the refusal, of a file of this content.
Result<SafetensorsHeader> HeaderOf(const std::string& content) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) /
      (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".safetensors");
  std::ofstream(path, std::ios::binary) << content;
  Result<SafetensorsHeader> header = ReadSafetensorsHeader(path.string());
  std::filesystem::remove(path);
  return header;
}

std::string Length(std::uint64_t bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(bytes >> (8 * i) & 0xff);
  return text;
}

TEST(SafetensorsHeaderTest, OnlyTheHeaderIsRead) {
  const Result<SafetensorsHeader> header =
      HeaderOf(Length(9) + R"json({"a": {}})json" + "\x80\xff data");
  ASSERT_TRUE(header.has_value()) << ToString(header.error());
  EXPECT_NE(header->document.root.Find("a"), nullptr);
  EXPECT_EQ(header->data_begin, 17);
  EXPECT_EQ(header->data_bytes, 7);
}

// 261 = 0x0105: the second byte counts 256.
TEST(SafetensorsHeaderTest, TheLengthIsLittleEndian) {
  const std::string json = "{}" + std::string(259, ' ');
  EXPECT_TRUE(HeaderOf(Length(261) + json).has_value());
  EXPECT_TRUE(HeaderOf(std::string("\x05\x01\0\0\0\0\0\0", 8) + json).has_value());
}

TEST(SafetensorsHeaderTest, LengthsThatCannotBeAreRefused) {
  const auto reason = [](const std::string& content) { return HeaderOf(content).error().reason; };
  EXPECT_EQ(reason(""), "is too short for a safetensors file");
  EXPECT_EQ(reason("1234567"), "is too short for a safetensors file");
  EXPECT_EQ(reason(Length(3) + "{}"), "ends inside its header");
  EXPECT_THAT(reason(Length(100'000'001) + "{}"), HasSubstr("more than the format allows"));
  EXPECT_THAT(reason(Length(~std::uint64_t{0}) + "{}"), HasSubstr("more than the format allows"));
}

TEST(SafetensorsHeaderTest, BadJsonNamesTheHeader) {
  const Result<SafetensorsHeader> header = HeaderOf(Length(2) + "{]");
  ASSERT_FALSE(header.has_value());
  EXPECT_THAT(header.error().place, HasSubstr(".safetensors: header"));
}

TEST(SafetensorsHeaderTest, AFileThatIsNotThere) {
  const Result<SafetensorsHeader> header = ReadSafetensorsHeader("/nonexistent/m.safetensors");
  ASSERT_FALSE(header.has_value());
  EXPECT_EQ(ToString(header.error()), "/nonexistent/m.safetensors: cannot be read; check the path");
}

}  // namespace
}  // namespace reshard
