#include "runtime/trial_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "kernels/conversion_element.h"
#include "runtime/conversion_lowering.h"

namespace reshard {
namespace {

// "v" as it is, "w" [5, 7] and "w.scale" of blocks of 2 x 3 computed from BF16 "w", "x" cast.
JobRecords JobOfConversions() {
  JobRecords job;
  job.tensors = {{"v", DType::kI64, {4}},
                 {"w", DType::kF8E4M3, {5, 7}},
                 {"w.scale", DType::kF32, {3, 3}},
                 {"x", DType::kBF16, {6}}};
  job.converted = {{1, ConversionKind::kBlockValues, "w", DType::kBF16, {5, 7}, {2, 3}},
                   {2, ConversionKind::kBlockScales, "w", DType::kBF16, {5, 7}, {2, 3}},
                   {3, ConversionKind::kCast, "x", DType::kF32, {6}, {}}};
  return job;
}

// All elements of a tensor by its values, and by converting all of its origin at once.
void ExpectConverted(TensorIndex tensor, std::size_t conversion) {
  const JobRecords job = JobOfConversions();
  const TrialOrigins origins(job);
  TrialTensor values(job, origins, 3, tensor);
  const ConvertedTensor& converted = job.converted[conversion];
  const Tensor& record = job.tensors[static_cast<std::size_t>(tensor)];
  std::int64_t elements = 1;
  for (const std::int64_t size : converted.origin_shape) elements *= size;
  const std::int64_t wide = ElementBytes(converted.origin_dtype);
  std::vector<std::byte> origin(static_cast<std::size_t>(elements * wide));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = values.OriginValue(i);
    std::memcpy(origin.data() + i * wide, &bits, static_cast<std::size_t>(wide));
  }
  const std::vector<std::byte> whole = ConvertTensor(converted, record.dtype, origin);
  const auto bytes = static_cast<std::size_t>(ElementBytes(record.dtype));
  for (std::size_t i = 0; i * bytes < whole.size(); ++i) {
    const std::uint64_t value = values.Value(static_cast<std::int64_t>(i));
    EXPECT_EQ(std::memcmp(&value, whole.data() + i * bytes, bytes), 0) << record.name << " " << i;
  }
}

TEST(TrialValuesTest, ConvertedElementsFollowFromTheirOrigins) {
  ExpectConverted(1, 0);
  ExpectConverted(2, 1);
  ExpectConverted(3, 2);
}

TEST(TrialValuesTest, TensorsOfOneOriginShareItsValues) {
  const JobRecords job = JobOfConversions();
  const TrialOrigins origins(job);
  EXPECT_EQ(origins.Key(0), std::nullopt);
  EXPECT_EQ(origins.Key(1), 1);
  EXPECT_EQ(origins.Key(2), 1);
  const TrialTensor values(job, origins, 1, 1);
  const TrialTensor scales(job, origins, 1, 2);
  std::set<std::uint64_t> distinct;
  for (std::int64_t i = 0; i < 35; ++i) {
    EXPECT_EQ(values.OriginValue(i), scales.OriginValue(i));
    distinct.insert(values.OriginValue(i));
  }
  EXPECT_GT(distinct.size(), 30U);
}

TEST(TrialValuesTest, ATensorThatIsMovedUnconvertedTooKeepsTheNumbers) {
  JobRecords job = JobOfConversions();
  job.tensors[0] = {"w", DType::kBF16, {5, 7}};
  const TrialOrigins origins(job);
  TrialTensor plain(job, origins, 1, 0);
  const TrialTensor values(job, origins, 1, 1);
  for (std::int64_t i = 0; i < 35; ++i) EXPECT_EQ(plain.Value(i), values.OriginValue(i));
}

// F8 ends at 448 and F32 at about e^88: numbers that a conversion may get stay well below both.
TEST(TrialValuesTest, NumbersToConvertAreModerate) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    JobRecords job;
    job.tensors = {{"x", DType::kF8E4M3, {4096}}};
    job.converted = {{0, ConversionKind::kCast, "x", dtype, {4096}, {}}};
    const TrialOrigins origins(job);
    const TrialTensor values(job, origins, 1, 0);
    float least = 64;
    float largest = 0;
    for (std::int64_t i = 0; i < 4096; ++i) {
      const float value =
          NumberOf(*ElementOf(dtype), static_cast<std::uint32_t>(values.OriginValue(i)));
      least = std::min(least, std::abs(value));
      largest = std::max(largest, std::abs(value));
    }
    EXPECT_LT(largest, 64) << Name(dtype);
    EXPECT_GT(largest, 32) << Name(dtype);
    EXPECT_LT(least, 0x1p-11F) << Name(dtype);
    EXPECT_GE(least, dtype == DType::kF16 ? 0x1p-12F : 0x1p-27F) << Name(dtype);
  }
}

TEST(TrialValuesTest, OtherTensorsHaveHashes) {
  const JobRecords job = JobOfConversions();
  const TrialOrigins origins(job);
  TrialTensor values(job, origins, 2, 0);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(values.Value(i), TrialValue(2, 0, i));
}

}  // namespace
}  // namespace reshard
