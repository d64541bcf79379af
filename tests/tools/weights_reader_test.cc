#include "tools/weights_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WeightsReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("weights_reader_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& contents) {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
    return (folder_ / name).string();
  }
  std::string WriteTensors(const std::string& name, const std::string& header,
                           const std::string& data) {
    return Write(
        name, std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header + data);
  }
  std::string Refusal(const std::string& entry) {
    const Result<WeightsReader> reader =
        WeightsReader::Open(WriteTensors("m.safetensors", R"({"t": )" + entry + "}", "12345678"));
    return reader ? "none" : ToString(reader.error());
  }

  std::filesystem::path folder_;
};

constexpr std::byte operator""_b(unsigned long long value) { return static_cast<std::byte>(value); }

TEST_F(WeightsReaderTest, ReadsTensorsOfOneFile) {
  const Result<WeightsReader> reader = WeightsReader::Open(WriteTensors(
      "m.safetensors",
      R"({"__metadata__": {}, "a": {"dtype": "BF16", "shape": [2, 1], "data_offsets": [1, 5]},)"
      R"( "b": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}})",
      "\x07\x01\x02\x03\x04"));
  ASSERT_TRUE(reader) << ToString(reader.error());
  EXPECT_TRUE(reader->Expect({"a", DType::kBF16, {2, 1}}));
  EXPECT_THAT(*reader->Read("a"), ElementsAre(1_b, 2_b, 3_b, 4_b));
  EXPECT_THAT(*reader->Read("b"), ElementsAre(7_b));
}

TEST_F(WeightsReaderTest, SaysWhatIsNotAsExpected) {
  const Result<WeightsReader> reader = WeightsReader::Open(WriteTensors(
      "m.safetensors", R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "1234"));
  ASSERT_TRUE(reader) << ToString(reader.error());
  EXPECT_THAT(ToString(reader->Expect({"b", DType::kBF16, {2}}).error()),
              HasSubstr("b: the plan moves this tensor and the weights lack it"));
  EXPECT_THAT(ToString(reader->Expect({"a", DType::kF16, {2}}).error()),
              HasSubstr("a: is BF16 [2] in the weights and F16 [2] in the plan"));
  EXPECT_TRUE(reader->Expect({"a", DType::kF32, {2}}));  // holds BF16 exactly
  EXPECT_EQ(reader->StoredDType("a"), DType::kBF16);
  EXPECT_FALSE(reader->Expect({"a", DType::kF64, {2}}));
  EXPECT_THAT(ToString(reader->Expect({"a", DType::kBF16, {2, 1}}).error()),
              HasSubstr("a: is BF16 [2] in the weights and BF16 [2, 1] in the plan"));
}

// A plan may see a dim as two; the elements are the same. [4, 6] is no view of [6, 4].
TEST_F(WeightsReaderTest, AViewOfATensorIsTheTensor) {
  const Result<WeightsReader> reader = WeightsReader::Open(
      WriteTensors("m.safetensors", R"({"a":{"dtype":"U8","shape":[4,6],"data_offsets":[0,24]}})",
                   "123456789012345678901234"));
  ASSERT_TRUE(reader) << ToString(reader.error());
  EXPECT_TRUE(reader->Expect({"a", DType::kU8, {4, 6}}));
  EXPECT_TRUE(reader->Expect({"a", DType::kU8, {4, 3, 2}}));
  EXPECT_TRUE(reader->Expect({"a", DType::kU8, {2, 2, 6}}));
  for (const std::vector<std::int64_t>& other : std::vector<std::vector<std::int64_t>>{
           {6, 4}, {4}, {24}, {4, 2, 2}, {4, 4, 2}, {8, 3}, {4, 6, 2}, {0, 6}}) {
    EXPECT_FALSE(reader->Expect({"a", DType::kU8, other}));
  }
}

TEST_F(WeightsReaderTest, BytesThatAreNotThoseOfTheShapeAreRefused) {
  const std::string is_wrong = "m.safetensors: header: t.data_offsets: are not those of ";
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}";
  };
  EXPECT_EQ(Refusal(entry("[2]", "[0, 8]")), "none");
  EXPECT_THAT(Refusal(entry("[2]", "[0, 4]")), HasSubstr(is_wrong + "[2] elements of F32"));
  EXPECT_THAT(Refusal(entry("[2]", "[4, 12]")), HasSubstr(is_wrong));  // beyond the end
  EXPECT_THAT(Refusal(entry("[0]", "[4, 0]")), HasSubstr(is_wrong));
  EXPECT_THAT(Refusal(entry("[2]", "[8]")), HasSubstr(is_wrong));
  EXPECT_THAT(Refusal(entry("[4611686018427387904, 8]", "[0, 8]")), HasSubstr(is_wrong));
  EXPECT_THAT(Refusal(entry("[-2]", "[0, 8]")), HasSubstr("t.shape"));
  EXPECT_THAT(Refusal(R"({"dtype": "F31", "shape": [2], "data_offsets": [0, 8]})"),
              HasSubstr("unknown dtype 'F31'"));
}

TEST_F(WeightsReaderTest, AnIndexJoinsItsShards) {
  const std::string entry = R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  WriteTensors("one.safetensors", R"({"a)" + entry, "x");
  WriteTensors("two.safetensors", R"({"b)" + entry, "y");
  const Result<WeightsReader> reader = WeightsReader::Open(
      Write("index.json", R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})"));
  ASSERT_TRUE(reader) << ToString(reader.error());
  EXPECT_THAT(*reader->Read("a"), ElementsAre(std::byte{'x'}));
  EXPECT_THAT(*reader->Read("b"), ElementsAre(std::byte{'y'}));

  const auto refusal = [this](const std::string& map) {
    return ToString(WeightsReader::Open(Write("i.json", R"({"weight_map": )" + map + "}")).error());
  };
  EXPECT_THAT(refusal(R"({"c": "one.safetensors"})"),
              HasSubstr("weight_map.c: shard one.safetensors does not hold this tensor"));
  EXPECT_THAT(refusal(R"({"c": "../one.safetensors"})"), HasSubstr("is no plain file name"));
  EXPECT_THAT(refusal(R"({"c": "none.safetensors"})"),
              HasSubstr("none.safetensors: cannot be read"));
}

TEST_F(WeightsReaderTest, AFileThatShrankIsNoticed) {
  const std::string path = WriteTensors(
      "m.safetensors", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234");
  const Result<WeightsReader> reader = WeightsReader::Open(path);
  ASSERT_TRUE(reader) << ToString(reader.error());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const Result<std::vector<std::byte>> bytes = reader->Read("a");
  ASSERT_FALSE(bytes);
  EXPECT_THAT(ToString(bytes.error()), HasSubstr("m.safetensors: a: cannot be read"));
}

}  // namespace
}  // namespace reshard
