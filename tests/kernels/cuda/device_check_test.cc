// The device check itself, on the doubles of the CUDA runtime and NCCL: its figures mean nothing
// there, its verdicts do.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/doubles/controls.h"
#include "tests/kernels/cuda/device_check/checks.h"

namespace reshard::device_check {
namespace {

constexpr Scale kSmall = {std::int64_t{1} << 20, 4, 1, 3};

NcclFunctions Doubles() {
  return {ncclGetVersion, ncclGetUniqueId, ncclCommInitRank, ncclCommDestroy,
          ncclGroupStart, ncclGroupEnd,    ncclSend,         ncclRecv};
}

// What a row of `check` says, of rows that came without an error.
void ExpectVerdicts(const Result<std::vector<Row>>& rows, std::vector<Verdict> verdicts) {
  ASSERT_TRUE(rows) << ToString(rows.error());
  ASSERT_EQ(rows->size(), verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    EXPECT_EQ((*rows)[i].verdict, verdicts[i]) << (*rows)[i].check << ": " << (*rows)[i].figures;
  }
}

class DeviceCheckTest : public ::testing::Test {
 protected:
  // Whatever a check takes it gives back.
  void TearDown() override { EXPECT_EQ(doubles::LiveObjects(), before_); }

  doubles::Live before_ = doubles::LiveObjects();
};

TEST_F(DeviceCheckTest, ContentsAreRight) {
  ExpectVerdicts(CheckContents(kSmall, 1), {Verdict::kRight, Verdict::kRight});
}

TEST_F(DeviceCheckTest, EveryMeasuredCopyIsRight) {
  ExpectVerdicts(MeasureCopies(kSmall), std::vector<Verdict>(11, Verdict::kRight));
}

TEST_F(DeviceCheckTest, ReplaysWithNcclAndWithout) {
  ExpectVerdicts(ReplayOnOneGpu(kSmall, Doubles()), {Verdict::kRight, Verdict::kRight});
  ExpectVerdicts(ReplayOnOneGpu(kSmall, std::nullopt), {Verdict::kRight, Verdict::kRight});
}

TEST_F(DeviceCheckTest, RanksOfOneGpuNeedANewNccl) {
  ExpectVerdicts(ExchangeBetweenRanks(kSmall, std::nullopt), {Verdict::kSkipped});
  NcclFunctions old = Doubles();
  old.get_version = [](int* version) {
    *version = 22809;
    return ncclSuccess;
  };
  ExpectVerdicts(ExchangeBetweenRanks(kSmall, old), {Verdict::kSkipped});
  NcclFunctions recent = Doubles();
  recent.get_version = [](int* version) {
    *version = 23007;
    return ncclSuccess;
  };
  ExpectVerdicts(ExchangeBetweenRanks(kSmall, recent), {Verdict::kRight});
}

TEST_F(DeviceCheckTest, NoMemoryIsAnError) {
  const doubles::Controls controls = doubles::GetControls();
  doubles::Controls scarce = controls;
  scarce.device_bytes = 1 << 20;
  doubles::SetControls(scarce);
  const Result<std::vector<Row>> rows = MeasureCopies(kSmall);
  doubles::SetControls(controls);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().fault, Fault::kRun);
  EXPECT_EQ(rows.error().place, "cudaMalloc");
}

}  // namespace
}  // namespace reshard::device_check
