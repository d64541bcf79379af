#include "kernels/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/kernels/conversion_golden.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> AsNumbers(const std::vector<std::byte>& bytes) {
  std::vector<int> numbers;
  for (const std::byte b : bytes) numbers.push_back(std::to_integer<int>(b));
  return numbers;
}

std::vector<std::byte> BytesOfFloats(const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// All bytes of `buffer` over `source` as base 0.
std::vector<std::byte> Convert(const ConvertedBuffer& buffer, std::vector<std::byte> source) {
  ConvertedBuffers buffers;
  buffers.Add(buffer);
  const std::int64_t base_bytes[] = {static_cast<std::int64_t>(source.size())};
  const Result<void> checked = CheckBuffers(buffers, base_bytes);
  EXPECT_TRUE(checked) << checked.error().reason;
  std::vector<std::byte> destination(static_cast<std::size_t>(ConvertedBytes(buffer)));
  CopyTable copies;
  copies.Add({0, 1, 0, 0, ConvertedBytes(buffer), {}});
  std::byte* const bases[] = {source.data(), destination.data()};
  RunConversions(copies, buffers, bases);
  return destination;
}

TEST(ConversionTest, GivesTheBitsOfPyTorch) {
  const std::vector<GoldenConversion> all = ReadGoldenConversions();
  ASSERT_GT(all.size(), 60U);
  std::size_t elements = 0;
  for (const GoldenConversion& golden : all) {
    const std::vector<std::byte> converted = Convert(golden.Buffer(), golden.source);
    ASSERT_EQ(converted.size(), golden.expected.size()) << golden.name;
    const auto wide = static_cast<std::size_t>(BytesOf(golden.buffer.to));
    for (std::size_t b = 0; b < converted.size(); ++b) {
      ASSERT_EQ(converted[b], golden.expected[b]) << golden.name << ", element " << b / wide;
    }
    elements += converted.size() / wide;
  }
  EXPECT_GT(elements, 50000U);
}

TEST(ConversionTest, ScalesABlockByHand) {
  // amax 896: s = 2, so 896 -> 448 (0x7E), -448 -> -224 (0xF6), 2 -> 1 (0x38), 0 -> 0.
  const ConversionDim dims[] = {{2, 8, 2}, {2, 4, 2}};
  ConvertedBuffer buffer{ConversionFunction::kBlockValues,
                         BlockScaleRule::kAmax,
                         ConversionElement::kF32,
                         ConversionElement::kF8E4M3,
                         0,
                         0,
                         dims};
  const std::vector<std::byte> source = BytesOfFloats({896, -448, 2, 0});
  EXPECT_THAT(AsNumbers(Convert(buffer, source)), ElementsAre(0x7E, 0xF6, 0x38, 0));
  buffer.function = ConversionFunction::kBlockScales;
  buffer.to = ConversionElement::kF32;
  EXPECT_EQ(Convert(buffer, source), BytesOfFloats({2}));
  // floor: 896 = 1.75 * 2^9, 2^(9 - 8); rceil: log2(896 / 448) = 1. Both 2^1, byte 128.
  buffer.to = ConversionElement::kE8M0;
  for (const BlockScaleRule rule : {BlockScaleRule::kFloor, BlockScaleRule::kRceil}) {
    buffer.rule = rule;
    EXPECT_THAT(AsNumbers(Convert(buffer, source)), ElementsAre(128));
  }
}

TEST(ConversionTest, GivesAnAllZeroBlockAScaleThatIsANumber) {
  const ConversionDim dims[] = {{4, 4, 4}};
  ConvertedBuffer buffer{ConversionFunction::kBlockScales,
                         BlockScaleRule::kAmax,
                         ConversionElement::kF32,
                         ConversionElement::kF32,
                         0,
                         0,
                         dims};
  const std::vector<std::byte> zeros = BytesOfFloats({0, -0.0F, 0, 0});
  EXPECT_EQ(Convert(buffer, zeros), BytesOfFloats({1}));
  buffer.to = ConversionElement::kE8M0;
  buffer.rule = BlockScaleRule::kFloor;
  EXPECT_THAT(AsNumbers(Convert(buffer, zeros)), ElementsAre(0));
  buffer.rule = BlockScaleRule::kRceil;
  EXPECT_THAT(AsNumbers(Convert(buffer, zeros)), ElementsAre(0));
  buffer.function = ConversionFunction::kBlockValues;
  buffer.to = ConversionElement::kF8E4M3;
  EXPECT_THAT(AsNumbers(Convert(buffer, zeros)), ElementsAre(0, 0x80, 0, 0));
}

TEST(ConversionTest, EveryE4M3NumberIsItsOwnRounding) {
  // 1 sign, 4 exponent (bias 7), 3 fraction bits; of each sign the last code is the NaN.
  for (int code = 0; code < 0x7F; ++code) {
    const int exponent = code >> 3;
    const double fraction = code & 7;
    const double value =
        exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    EXPECT_EQ(E4M3FromF32(static_cast<float>(value)), code);
    EXPECT_EQ(E4M3FromF32(static_cast<float>(-value)), code | 0x80);
  }
  EXPECT_EQ(E4M3FromF32(std::numeric_limits<float>::infinity()), 0x7E);
  EXPECT_EQ(E4M3FromF32(465.0F), 0x7E);
  EXPECT_EQ(E4M3FromF32(std::numeric_limits<float>::quiet_NaN()), 0x7F);
}

// Any window of a converted buffer has the bytes that the whole has there.
TEST(ConversionTest, AnyWindowHasTheBytesOfTheWhole) {
  constexpr std::uint32_t kSeed = 5;
  std::mt19937 draw(kSeed);
  for (const GoldenConversion& golden : ReadGoldenConversions()) {
    ConvertedBuffers buffers;
    buffers.Add(golden.Buffer());
    const auto bytes = static_cast<std::int64_t>(golden.expected.size());
    std::vector<std::byte> source = golden.source;
    std::vector<std::byte> destination(golden.expected.size());
    std::byte* const bases[] = {source.data(), destination.data()};
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto begin = static_cast<std::int64_t>(draw() % golden.expected.size());
      const std::int64_t run = 1 + draw() % std::min<std::int64_t>(bytes - begin, 90);
      const std::int64_t stride = run + draw() % 7;
      const StridedDim dims[] = {{1 + (bytes - begin - run) / stride, stride, run}};
      CopyTable copies;
      copies.Add({0, 1, begin, 0, run, dims});
      RunConversions(copies, buffers, bases);
      for (std::int64_t i = 0; i < dims[0].count * run; ++i) {
        const std::int64_t at = begin + i / run * stride + i % run;
        ASSERT_EQ(destination[static_cast<std::size_t>(i)],
                  golden.expected[static_cast<std::size_t>(at)])
            << "seed " << kSeed << ", " << golden.name << ", byte " << at;
      }
    }
  }
}

TEST(ConversionTest, ReadsAStridedBoxOfItsSource) {
  // The 2 x 2 box at row 1, column 1 of a 3 x 4 matrix 0..11, transposed: 5 9 / 6 10, less one.
  const ConversionDim dims[] = {{2, 4, 1}, {2, 16, 1}};
  const ConvertedBuffer buffer{ConversionFunction::kMinusOne,
                               BlockScaleRule::kAmax,
                               ConversionElement::kF32,
                               ConversionElement::kF32,
                               0,
                               20,
                               dims};
  const std::vector<std::byte> source = BytesOfFloats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(Convert(buffer, source), BytesOfFloats({4, 8, 5, 9}));
}

TEST(ConversionTest, RefusesBuffersThatAreNone) {
  const std::int64_t base_bytes[] = {64};
  const ConversionDim good[] = {{4, 16, 2}, {4, 4, 2}};
  const ConvertedBuffer buffer{ConversionFunction::kBlockValues,
                               BlockScaleRule::kAmax,
                               ConversionElement::kF32,
                               ConversionElement::kF8E4M3,
                               0,
                               0,
                               good};
  const auto fault_of = [&](const ConvertedBuffer& changed) {
    ConvertedBuffers buffers;
    buffers.Add(changed);
    const Result<void> checked = CheckBuffers(buffers, base_bytes);
    return checked ? std::string() : checked.error().reason;
  };
  EXPECT_EQ(fault_of(buffer), "");
  ConvertedBuffer changed = buffer;
  changed.offset = 4;
  EXPECT_THAT(fault_of(changed), HasSubstr("outside of its source"));
  changed.offset = 2;
  EXPECT_THAT(fault_of(changed), HasSubstr("not aligned"));
  changed = buffer;
  changed.base = 1;
  EXPECT_THAT(fault_of(changed), HasSubstr("outside of its source"));
  changed = buffer;
  changed.to = ConversionElement::kBF16;
  EXPECT_THAT(fault_of(changed), HasSubstr("element types"));
  changed = buffer;
  const ConversionDim no_block[] = {{4, 16, 0}, {4, 4, 2}};
  changed.dims = no_block;
  EXPECT_THAT(fault_of(changed), HasSubstr("has an extent, stride or block that is none"));
  const ConversionDim huge[] = {{std::int64_t{1} << 40, std::int64_t{1} << 40, 1}};
  changed.dims = huge;
  EXPECT_THAT(fault_of(changed), HasSubstr("64 bits"));
}

// 64 bytes must not stand for a buffer, and a table of its blocks, of terabytes.
TEST(ConversionTest, RefusesBuffersOfMoreElementsThanTheirSource) {
  const std::int64_t base_bytes[] = {64};
  const auto fault_of = [&](std::span<const ConversionDim> dims) {
    ConvertedBuffers buffers;
    buffers.Add({ConversionFunction::kBlockValues, BlockScaleRule::kAmax, ConversionElement::kF32,
                 ConversionElement::kF8E4M3, 0, 0, dims});
    const Result<void> checked = CheckBuffers(buffers, base_bytes);
    return checked ? std::string() : checked.error().reason;
  };
  const ConversionDim standing[] = {{std::int64_t{1} << 40, 0, 1}, {4, 4, 2}};
  EXPECT_THAT(fault_of(standing), HasSubstr("has an extent, stride or block that is none"));
  const ConversionDim single[] = {{1, 0, 1}, {16, 4, 2}};
  EXPECT_EQ(fault_of(single), "");
  // Elements 0 to 12 of 16, but 3 * 5 * 5 of them.
  const ConversionDim windows[] = {{3, 4, 1}, {5, 4, 1}, {5, 4, 1}};
  EXPECT_THAT(fault_of(windows), HasSubstr("has more elements than its source"));
  const ConversionDim all[] = {{4, 4, 1}, {4, 4, 1}};  // 16, as many as there are
  EXPECT_EQ(fault_of(all), "");
}

TEST(ConversionTest, RefusesCopiesOutsideOfEitherEnd) {
  const ConversionDim dims[] = {{8, 4, 1}};
  ConvertedBuffers buffers;  // 16 bytes of BF16
  buffers.Add({ConversionFunction::kCast, BlockScaleRule::kAmax, ConversionElement::kF32,
               ConversionElement::kBF16, 0, 0, dims});
  const std::int64_t base_bytes[] = {32, 16};
  const auto passes = [&](const StridedCopy& copy) {
    CopyTable copies;
    copies.Add(copy);
    return CheckConversions(copies, buffers, base_bytes).has_value();
  };
  EXPECT_TRUE(passes({0, 1, 0, 0, 16, {}}));
  EXPECT_FALSE(passes({0, 1, 1, 0, 16, {}}));
  EXPECT_FALSE(passes({0, 1, 0, 1, 16, {}}));
  EXPECT_FALSE(passes({1, 1, 0, 0, 16, {}}));
  EXPECT_FALSE(passes({0, 2, 0, 0, 16, {}}));
}

}  // namespace
}  // namespace reshard
