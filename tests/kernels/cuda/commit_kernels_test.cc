// The kernels' own source, compiled for the host (RunOnStream is that of copy_kernels_test.cc).
#include "kernels/cuda/commit_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace reshard {
namespace {

// A parent and its children, the tokens passed by hand. Returns what the root publishes.
HostMarks CommitOnce(CommitState& root, std::span<CommitState> leaves) {
  EXPECT_EQ(LaunchCommitBegin(&root, nullptr), 0);
  for (std::size_t c = 0; c < leaves.size(); ++c) {
    EXPECT_EQ(LaunchCommitBegin(&leaves[c], nullptr), 0);
    EXPECT_EQ(LaunchCommitGather(&leaves[c], 0, false, nullptr), 0);
    root.children[c] = leaves[c].own;
  }
  EXPECT_EQ(LaunchCommitGather(&root, static_cast<int>(leaves.size()), true, nullptr), 0);
  EXPECT_EQ(LaunchCommitConclude(&root, nullptr), 0);
  HostMarks marks;
  EXPECT_EQ(LaunchCommitPublish(&root, &marks, nullptr), 0);
  for (CommitState& leaf : leaves) {
    leaf.verdict = root.verdict;
    EXPECT_EQ(LaunchCommitConclude(&leaf, nullptr), 0);
  }
  return marks;
}

TEST(CommitKernelsTest, CountsRefitsAndAgrees) {
  CommitState root;
  std::array<CommitState, kCommitChildren> leaves;
  for (std::uint64_t refit = 1; refit <= 3; ++refit) {
    const HostMarks marks = CommitOnce(root, leaves);
    EXPECT_EQ(marks.refit, refit);
    EXPECT_EQ(marks.ok, 1u);
    for (const CommitState& leaf : leaves) EXPECT_EQ(leaf.all_ok, 1u);
  }
}

TEST(CommitKernelsTest, UnequalCountsFailOnEveryRank) {
  for (int stray = -1; stray < 2; ++stray) {
    CommitState root;
    std::array<CommitState, 2> leaves;
    (stray < 0 ? root : leaves[static_cast<std::size_t>(stray)]).own.refit = 1;
    const HostMarks marks = CommitOnce(root, leaves);
    EXPECT_EQ(marks.ok, 0u) << stray;
    for (const CommitState& leaf : leaves) EXPECT_EQ(leaf.all_ok, 0u) << stray;
  }
}

TEST(CommitKernelsTest, ASideThatFailsSpoilsTheOther) {
  CommitState state;
  ASSERT_EQ(LaunchCommitBegin(&state, nullptr), 0);
  ASSERT_EQ(LaunchCommitGather(&state, 0, false, nullptr), 0);
  state.verdict = {1, 0};
  ASSERT_EQ(LaunchCommitConclude(&state, nullptr), 0);
  ASSERT_EQ(LaunchCommitGather(&state, 0, true, nullptr), 0);
  ASSERT_EQ(LaunchCommitConclude(&state, nullptr), 0);
  EXPECT_EQ(state.all_ok, 0u);
}

TEST(CommitKernelsTest, MarksAGroupThatHasEnded) {
  HostMarks marks;
  ASSERT_EQ(LaunchGroupMark(&marks, 7, nullptr), 0);
  EXPECT_EQ(marks.groups_ended, 7u);
}

}  // namespace
}  // namespace reshard
