#include "tools/weights_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace reshard {
namespace {

// The format, written out by hand: 8 bytes of length, the header padded to a multiple of 8 with
// spaces, the data; larger elements first, so that each begins at a multiple of its size.
TEST(WeightsWriterTest, WritesTheFormat) {
  const std::string path = (std::filesystem::path(testing::TempDir()) /
                            ("weights_writer_test." + std::to_string(getpid())))
                               .string();
  const std::array<std::byte, 3> small{std::byte{1}, std::byte{2}, std::byte{3}};
  const std::array<std::byte, 4> large{std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7}};
  const Result<std::int64_t> bytes = WriteSafetensors(path, {{"rank", "5"}},
                                                      {{{"small", DType::kU8, {3, 1}}, small},
                                                       {{"none", DType::kBF16, {0, 9}}, {}},
                                                       {{"large", DType::kF32, {}}, large}});
  ASSERT_TRUE(bytes) << ToString(bytes.error());
  std::ifstream file(path, std::ios::binary);
  const std::string contents{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  std::filesystem::remove(path);

  std::string header = R"({"__metadata__": {"rank": "5"}, )"
                       R"("large": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}, )"
                       R"("none": {"dtype": "BF16", "shape": [0, 9], "data_offsets": [4, 4]}, )"
                       R"("small": {"dtype": "U8", "shape": [3, 1], "data_offsets": [4, 7]}})";
  while (header.size() % 8 != 0) header += ' ';
  const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(contents, length + header + "\x04\x05\x06\x07\x01\x02\x03");
  EXPECT_EQ(*bytes, static_cast<std::int64_t>(contents.size()));
}

}  // namespace
}  // namespace reshard
