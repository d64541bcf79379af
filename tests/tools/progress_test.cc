#include "tools/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace reshard {
namespace {

// The tests' standard error is captured into a file, which is no terminal.
TEST(Progress, SaysNothingWhereThereIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress;
    progress.Begin("planning");
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace reshard
