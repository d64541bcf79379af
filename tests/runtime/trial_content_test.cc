#include "runtime/trial_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const NamedBuffer& Named(const std::vector<NamedBuffer>& buffers, const std::string& name) {
  for (const NamedBuffer& buffer : buffers) {
    if (buffer.name == name) return buffer;
  }
  ADD_FAILURE() << "no buffer " << name;
  return buffers.front();
}

std::uint16_t Element16(const NamedBuffer& buffer, std::int64_t position) {
  std::uint16_t value = 0;
  std::memcpy(&value, buffer.data + 2 * position, sizeof(value));
  return value;
}

std::string Message(const Result<void>& result) {
  return result ? "fine" : ToString(result.error());
}

TEST(TrialContentTest, RefitsTensorsAndElementsDiffer) {
  std::set<std::uint64_t> values;
  for (std::uint64_t refit = 1; refit <= 4; ++refit) {
    for (TensorIndex tensor = 0; tensor < 4; ++tensor) {
      for (std::int64_t index = 0; index < 1000; ++index) {
        values.insert(TrialValue(refit, tensor, index));
      }
    }
  }
  EXPECT_EQ(values.size(), 16000u);
}

TEST(TrialContentTest, GroupsRegionsByParameter) {
  // Layout 2 of the small plan lists tensor a in parameter 0, b in 1, c in 0.
  const JobRecords job = SmallPlan().job;
  const RegionsByParameter regions(job.layouts[2]);
  EXPECT_THAT(regions.Of(0), ElementsAre(0, 2));
  EXPECT_THAT(regions.Of(1), ElementsAre(1));
}

TEST(TrialContentTest, FillsSourcesAndLeavesDestinationsUntouched) {
  const JobRecords job = SmallPlan().job;
  TrialMemory memory = *TrialMemory::Make(job, 0);
  memory.Fill(3);
  const std::vector<NamedBuffer> sources = memory.SourceBuffers();
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_TRUE(memory.DestinationBuffers().empty());
  // a is [8, 8], whole and row-major: element (2, 5) is at 21.
  EXPECT_EQ(Element16(Named(sources, "a"), 21), static_cast<std::uint16_t>(TrialValue(3, 0, 21)));
  EXPECT_EQ(Element16(Named(sources, "c"), 3), static_cast<std::uint16_t>(TrialValue(3, 2, 3)));

  TrialMemory needer = *TrialMemory::Make(job, 3);
  needer.Fill(3);
  const std::vector<NamedBuffer> destinations = needer.DestinationBuffers();
  ASSERT_EQ(destinations.size(), 1u);
  EXPECT_EQ(destinations[0].bytes, 8 * 6 * 2);
  for (std::int64_t b = 0; b < destinations[0].bytes; ++b) {
    ASSERT_EQ(destinations[0].data[b], kUntouchedByte);
  }
}

// Rank 3 needs columns 4..7 of a, at columns 1..4 of an [8, 6] buffer.
class TrialCheckTest : public ::testing::Test {
 protected:
  TrialCheckTest() {
    memory_.Fill(9);
    for (std::int64_t row = 0; row < 8; ++row) {
      for (std::int64_t column = 0; column < 4; ++column) {
        const auto value = static_cast<std::uint16_t>(TrialValue(9, 0, row * 8 + 4 + column));
        std::memcpy(data_ + 2 * (row * 6 + 1 + column), &value, sizeof(value));
      }
    }
  }
  const JobRecords job_ = SmallPlan().job;
  TrialMemory memory_ = *TrialMemory::Make(job_, 3);
  std::byte* data_ = memory_.DestinationBuffers()[0].data;
};

TEST_F(TrialCheckTest, AcceptsTheRightBytes) { EXPECT_EQ(Message(memory_.Check(9)), "fine"); }

TEST_F(TrialCheckTest, EveryWrongByteIsFound) {
  for (std::int64_t b = 0; b < 96; ++b) {
    data_[b] ^= std::byte{1};
    EXPECT_THAT(Message(memory_.Check(9)), AllOf(HasSubstr("rank 3: destination parameter a.right"),
                                                 HasSubstr("byte " + std::to_string(b) + " is ")));
    data_[b] ^= std::byte{1};
  }
}

TEST_F(TrialCheckTest, TheValuesOfAnotherRefitAreWrong) {
  const Result<void> checked = memory_.Check(8);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().fault, Fault::kRun);
  EXPECT_THAT(Message(checked), HasSubstr("after refit 8"));
}

TEST(TrialContentTest, ChangedSourcesAreFound) {
  const JobRecords job = SmallPlan().job;
  TrialMemory memory = *TrialMemory::Make(job, 0);
  memory.Fill(1);
  EXPECT_EQ(Message(memory.Check(1)), "fine");
  Named(memory.SourceBuffers(), "c").data[5] ^= std::byte{1};
  EXPECT_THAT(Message(memory.Check(1)), HasSubstr("source parameter c: byte 5 is"));
}

TEST(TrialContentTest, PairsShareOneBuffer) {
  const JobRecords job = SmallInPlacePlan().job;
  TrialMemory memory = *TrialMemory::Make(job, 1);
  EXPECT_EQ(Named(memory.SourceBuffers(), "b").data, Named(memory.DestinationBuffers(), "b").data);
  EXPECT_NE(Named(memory.SourceBuffers(), "b").data,
            Named(memory.DestinationBuffers(), "fused").data);
}

TEST(TrialContentTest, CountsTheBytesOfAllRanks) {
  // Rank 0: 128 + 128 + 8. Rank 1: 128 and 72 + 128. Rank 2: 72 + 128. Ranks 3, 4: 96 each. The
  // image: 128.
  const JobRecords job = SmallPlan().job;
  EXPECT_EQ(*TrialBytes(job), 264 + 328 + 200 + 2 * 96 + 128);
}

TEST(TrialContentTest, RefusesSizesBeyond64Bits) {
  JobRecords job = SmallPlan().job;
  job.layouts[3].parameters[0].shape = {std::int64_t{1} << 62, 8};
  EXPECT_FALSE(TrialBytes(job));
  EXPECT_FALSE(TrialMemory::Make(job, 3));
}

}  // namespace
}  // namespace reshard
