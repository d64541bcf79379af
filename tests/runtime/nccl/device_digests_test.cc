#include "runtime/nccl/device_digests.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/fragment_digests.h"
#include "runtime/nccl/device_mirror.h"
#include "runtime/trial_content.h"
#include "tests/doubles/controls.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

// The same digests as those of the host twin over the same bytes.
TEST(DeviceDigestsTest, AreThoseOfTheHost) {
  const doubles::Live before = doubles::LiveObjects();
  const Plan plan = SmallPlan();
  for (RankIndex rank = 0; rank < 5; ++rank) {
    TrialMemory memory = *TrialMemory::Make(plan.job, rank);
    DeviceMirror mirror = *DeviceMirror::Make(memory, "rank");
    for (const bool source : {true, false}) {
      const FragmentDigests digests =
          source ? HeldFragments(plan, rank) : NeededFragments(plan, rank);
      // A trial's buffers are in the order of the layout's parameters.
      std::vector<const std::byte*> on_host;
      std::vector<std::byte*> on_device;
      for (const NamedBuffer& buffer :
           source ? memory.SourceBuffers() : memory.DestinationBuffers()) {
        on_host.push_back(buffer.data);
      }
      for (const NamedBuffer& buffer :
           source ? mirror.SourceBuffers() : mirror.DestinationBuffers()) {
        on_device.push_back(buffer.data);
      }
      const Result<DeviceDigests> made = DeviceDigests::Make(digests.table, on_device, "rank");
      ASSERT_TRUE(made) << ToString(made.error());
      for (std::uint64_t refit = 1; refit <= 2; ++refit) {
        ASSERT_TRUE(mirror.Fill(refit));
        const auto got = made->Run();
        ASSERT_TRUE(got) << ToString(got.error());
        EXPECT_EQ(*got, RunDigests(digests.table, on_host)) << rank;
      }
    }
  }
  EXPECT_TRUE(doubles::LiveObjects() == before);
}

TEST(DeviceDigestsTest, SayWhatThereIsNoMemoryFor) {
  const Plan plan = SmallPlan();
  const FragmentDigests digests = HeldFragments(plan, 0);
  const doubles::Controls usual = doubles::GetControls();
  doubles::Controls controls = usual;
  controls.device_bytes = doubles::LiveObjects().device_bytes;
  doubles::SetControls(controls);
  const std::vector<std::byte*> bases(3);
  EXPECT_FALSE(DeviceDigests::Make(digests.table, bases, "rank"));
  doubles::SetControls(usual);
}

}  // namespace
}  // namespace reshard
