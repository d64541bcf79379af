#include "tools/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>

namespace reshard {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

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

// What a terminal gets to see on standard error while a command takes as long.
std::string SeenOnTerminal(std::chrono::milliseconds duration) {
  int terminal = -1;
  int program_side = -1;
  if (openpty(&terminal, &program_side, nullptr, nullptr, nullptr) != 0) return "no terminal";
  const int standard_error = dup(STDERR_FILENO);
  dup2(program_side, STDERR_FILENO);
  {
    Progress progress;
    progress.Begin("planning");
    std::this_thread::sleep_for(duration);
  }
  dprintf(STDERR_FILENO, "|");  // so that there is something to read in any case
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  close(program_side);
  std::string seen;
  std::array<char, 4096> part{};
  while (!seen.ends_with('|')) {
    const ssize_t bytes = read(terminal, part.data(), part.size());
    if (bytes <= 0) break;
    seen.append(part.data(), static_cast<std::size_t>(bytes));
  }
  close(terminal);
  return seen;
}

TEST(Progress, ShowsTheStageAfterASecondAndClearsItsLine) {
  const std::string seen = SeenOnTerminal(std::chrono::milliseconds(1700));
  EXPECT_THAT(seen, HasSubstr("planning (1 s)"));
  EXPECT_THAT(seen, EndsWith("\r\x1b[K|"));
}

TEST(Progress, ShowsNothingOfWhatIsDoneAtOnce) {
  EXPECT_EQ(SeenOnTerminal(std::chrono::milliseconds(10)), "|");
}

}  // namespace
}  // namespace reshard
