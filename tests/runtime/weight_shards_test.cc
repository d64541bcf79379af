#include "runtime/weight_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/trial_content.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Tensor a of the small plan, [8, 8] BF16: element (i, j) is 1000 + 8 i + j.
std::vector<std::uint16_t> TensorA() {
  std::vector<std::uint16_t> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(1000 + i);
  return values;
}

std::span<const std::byte> Bytes(const std::vector<std::uint16_t>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<std::uint16_t> Elements(const NamedBuffer& buffer) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(buffer.bytes / 2));
  std::memcpy(values.data(), buffer.data, static_cast<std::size_t>(buffer.bytes));
  return values;
}

WeightShards ShardsOf(const JobRecords& job, RankIndex rank, const TrialMemory& memory) {
  return *WeightShards::Make(job, rank, memory.SourceBuffers(), memory.DestinationBuffers());
}

TEST(WeightShardsTest, SourcesGetTheirPartAndTheRestIsZero) {
  const JobRecords job = SmallPlan().job;
  const TrialMemory memory = *TrialMemory::Make(job, 0);
  WeightShards shards = ShardsOf(job, 0, memory);
  shards.Clear();
  shards.Fill(0, Bytes(TensorA()));
  EXPECT_EQ(Elements(memory.SourceBuffers()[0]), TensorA());
  EXPECT_EQ(Elements(memory.SourceBuffers()[1]), std::vector<std::uint16_t>(64, 0));
}

// A source as rank 3's destination is: columns 4..7 of a, at columns 1..4 of an [8, 6] buffer.
TEST(WeightShardsTest, StridedPartsAreCutOut) {
  JobRecords job = SmallPlan().job;
  job.ranks[3].source_layout = 3;
  const TrialMemory memory = *TrialMemory::Make(job, 3);
  WeightShards shards = ShardsOf(job, 3, memory);
  shards.Clear();
  shards.Fill(0, Bytes(TensorA()));
  const std::vector<std::uint16_t> held = Elements(memory.SourceBuffers()[0]);
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_EQ(held[row * 6], 0);
    for (std::size_t column = 0; column < 4; ++column) {
      EXPECT_EQ(held[row * 6 + 1 + column], 1000 + row * 8 + 4 + column);
    }
    EXPECT_EQ(held[row * 6 + 5], 0);
  }
}

// Column 4 + j of row i is element (i, 1 + j) of the buffer: every byte of it is compared, no
// other.
TEST(WeightShardsTest, EveryWrongByteIsFound) {
  const JobRecords job = SmallPlan().job;
  const TrialMemory memory = *TrialMemory::Make(job, 3);
  WeightShards shards = ShardsOf(job, 3, memory);
  shards.Clear();
  const std::vector<std::uint16_t> tensor = TensorA();
  const NamedBuffer buffer = memory.DestinationBuffers()[0];
  for (std::size_t i = 0; i < 64; ++i) {
    if (i % 8 < 4) continue;
    std::memcpy(buffer.data + 2 * (i / 8 * 6 + 1 + i % 8 - 4), &tensor[i], 2);
  }
  EXPECT_TRUE(shards.Check(0, Bytes(tensor)));
  for (std::int64_t b = 0; b < buffer.bytes; ++b) {
    buffer.data[b] ^= std::byte{1};
    const std::int64_t column = b / 2 % 6;
    const Result<void> checked = shards.Check(0, Bytes(tensor));
    EXPECT_EQ(checked.has_value(), column == 0 || column == 5) << b;
    if (!checked) {
      EXPECT_THAT(ToString(checked.error()),
                  AllOf(HasSubstr("rank 3: destination parameter a.right"),
                        HasSubstr("byte " + std::to_string(b) + " is not that of tensor a")));
    }
    buffer.data[b] ^= std::byte{1};
  }
}

// Columns 0 and 5 of rank 3's [8, 6] buffer, the latter declared zero: not before it is written.
TEST(WeightShardsTest, DeclaredZerosAreThereOnceTheyAreWritten) {
  JobRecords job = SmallPlan().job;
  const std::int64_t begin[] = {0};
  const std::int64_t extent[] = {8};
  const std::int64_t stride[] = {6};
  job.layouts[3].zeros.Add({kZeroTensor, 0, 5, begin, extent, stride});
  const TrialMemory memory = *TrialMemory::Make(job, 3);
  WeightShards shards = ShardsOf(job, 3, memory);
  shards.Clear();
  const NamedBuffer buffer = memory.DestinationBuffers()[0];
  for (std::int64_t b = 0; b < buffer.bytes; ++b) {
    EXPECT_EQ(buffer.data[b], b / 2 % 6 == 5 ? kUntouchedByte : std::byte{0}) << b;
  }
  const Result<void> unwritten = shards.CheckZeros();
  ASSERT_FALSE(unwritten);
  EXPECT_THAT(ToString(unwritten.error()),
              AllOf(HasSubstr("rank 3: destination parameter a.right"),
                    HasSubstr("byte 10 is not zero, as its layout declares it")));
  std::memset(buffer.data, 0, static_cast<std::size_t>(buffer.bytes));
  EXPECT_TRUE(shards.CheckZeros());
  for (std::int64_t b = 0; b < buffer.bytes; ++b) {
    buffer.data[b] = std::byte{1};
    const Result<void> checked = shards.CheckZeros();
    EXPECT_EQ(checked.has_value(), b / 2 % 6 != 5) << b;
    if (!checked) {
      EXPECT_THAT(checked.error().reason, HasSubstr("byte " + std::to_string(b) + " is not zero"));
    }
    buffer.data[b] = std::byte{0};
  }
}

TEST(WeightShardsTest, TensorsOfOtherRanksTouchNothing) {
  const JobRecords job = SmallPlan().job;
  const TrialMemory memory = *TrialMemory::Make(job, 1);  // source: b alone
  WeightShards shards = ShardsOf(job, 1, memory);
  shards.Clear();
  shards.Fill(0, Bytes(TensorA()));
  EXPECT_EQ(Elements(memory.SourceBuffers()[0]), std::vector<std::uint16_t>(64, 0));
}

TEST(WeightShardsTest, ABufferOfAnotherSizeIsAFault) {
  const JobRecords job = SmallPlan().job;
  const TrialMemory memory = *TrialMemory::Make(job, 0);
  std::vector<NamedBuffer> source = memory.SourceBuffers();
  --source[1].bytes;
  const Result<WeightShards> shards = WeightShards::Make(job, 0, source, {});
  ASSERT_FALSE(shards);
  EXPECT_THAT(ToString(shards.error()), HasSubstr("parameter b has no buffer of its size"));
}

}  // namespace
}  // namespace reshard
