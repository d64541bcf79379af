// The kernels' own source, compiled for the host, against the golden bytes and the host twin.
// RunOnStream() is that of copy_kernels_test.cc.
#include "kernels/cuda/conversion_kernels.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/kernels/conversion_golden.h"

namespace reshard {
namespace {

void RunConversionKernels(const CopyTable& copies, const ConvertedBuffers& buffers,
                          const std::vector<std::byte*>& bases) {
  DeviceImage image;
  const BuffersLocation added = AddBuffers(buffers, image);
  const ConversionLocation location = AddConversions(copies, buffers, added, image);
  // Words that a launch must not trust.
  std::vector<std::uint32_t> scratch(static_cast<std::size_t>(location.scratch_words), 0x7F000000);
  EXPECT_EQ(
      LaunchConversions({image.bytes().data(), bases.data()}, location, scratch.data(), nullptr),
      0);
}

TEST(ConversionKernelsTest, GiveTheBitsOfPyTorch) {
  for (const GoldenConversion& golden : ReadGoldenConversions()) {
    ConvertedBuffers buffers;
    buffers.Add(golden.Buffer());
    std::vector<std::byte> source = golden.source;
    std::vector<std::byte> destination(golden.expected.size());
    CopyTable copies;
    copies.Add({0, 1, 0, 0, static_cast<std::int64_t>(golden.expected.size()), {}});
    RunConversionKernels(copies, buffers, {source.data(), destination.data()});
    ASSERT_EQ(destination, golden.expected) << golden.name;
  }
}

// Extents and blocks whose sum does not fit 64 bits.
TEST(ConversionKernelsTest, BlocksMayBeLargerThanEverything) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const ConversionDim few[] = {{3, 32, kLargest}, {8, 4, kLargest - 1}};
  const ConversionDim many[] = {{20, 32, kLargest}, {8, 4, 3}};
  for (const std::span<const ConversionDim> dims : {std::span(few), std::span(many)}) {
    for (const ConversionFunction function :
         {ConversionFunction::kBlockValues, ConversionFunction::kBlockScales}) {
      const ConvertedBuffer buffer = {function,
                                      BlockScaleRule::kAmax,
                                      ConversionElement::kF32,
                                      function == ConversionFunction::kBlockValues
                                          ? ConversionElement::kF8E4M3
                                          : ConversionElement::kF32,
                                      0,
                                      0,
                                      dims};
      ConvertedBuffers buffers;
      buffers.Add(buffer);
      std::vector<float> source(160);
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i) - 50.0F;
      const std::int64_t base_bytes[] = {640};
      ASSERT_TRUE(CheckBuffers(buffers, base_bytes));
      std::vector<std::byte> by_kernel(static_cast<std::size_t>(ConvertedBytes(buffer)));
      std::vector<std::byte> by_twin = by_kernel;
      CopyTable copies;
      copies.Add({0, 1, 0, 0, ConvertedBytes(buffer), {}});
      auto* const data = reinterpret_cast<std::byte*>(source.data());
      RunConversionKernels(copies, buffers, {data, by_kernel.data()});
      std::byte* const bases[] = {data, by_twin.data()};
      RunConversions(copies, buffers, bases);
      EXPECT_EQ(by_kernel, by_twin);
    }
  }
}

// Windows of several buffers in one table, cut anywhere, to places aligned to nothing.
TEST(ConversionKernelsTest, RandomWindowsEqualTheTwin) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draw(seed);
  const std::vector<GoldenConversion> all = ReadGoldenConversions();
  for (int trial = 0; trial < 60; ++trial) {
    ConvertedBuffers buffers;
    std::vector<std::vector<std::byte>> sources;
    CopyTable copies;
    const BaseIndex count = 1 + static_cast<BaseIndex>(draw() % 4);
    std::int64_t written = draw() % 5;
    for (BaseIndex b = 0; b < count; ++b) {
      const GoldenConversion& golden = all[draw() % all.size()];
      ConvertedBuffer buffer = golden.Buffer();
      buffer.base = b;
      buffers.Add(buffer);
      sources.push_back(golden.source);
      const auto bytes = static_cast<std::int64_t>(golden.expected.size());
      const std::int64_t begin = draw() % golden.expected.size();
      const std::int64_t run = 1 + draw() % (bytes - begin);
      const std::int64_t stride = run + draw() % 9;
      const std::int64_t runs = 1 + (bytes - begin - run) / stride;
      const StridedDim dims[] = {{runs, stride, run + 1}};
      copies.Add({b, count, begin, written, run, dims});
      written += runs * (run + 1) + draw() % 3;
    }
    std::vector<std::byte> by_kernel(static_cast<std::size_t>(written), std::byte{0x5A});
    std::vector<std::byte> by_twin = by_kernel;
    std::vector<std::byte*> bases;
    for (std::vector<std::byte>& source : sources) bases.push_back(source.data());
    bases.push_back(by_kernel.data());
    RunConversionKernels(copies, buffers, bases);
    bases.back() = by_twin.data();
    RunConversions(copies, buffers, bases);
    ASSERT_EQ(by_kernel, by_twin) << "trial " << trial;
  }
}

}  // namespace
}  // namespace reshard
