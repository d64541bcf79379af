// What the last rounds of a refit do on a device: agree over a side that all ranks have all of it,
// and tell the host. The exchanges between these launches are the caller's.
//
// On a rank, per refit:   Begin, then for each side it is of:  [receive children]  Gather
//   [send own; receive verdict]  Conclude  [send verdict to the children];   at last Publish.
//
// As in copy_kernels.h: a CUstream_st* is a cudaStream_t, a launch returns its cudaError_t as a
// number, allocates nothing and waits for nothing.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace reshard {

inline constexpr int kCommitChildren = 8;  // of one rank in the tree, at most

// What ranks tell each other.
struct CommitToken {
  std::uint64_t refit = 0;  // how many refits the rank has carried out
  std::uint64_t ok = 0;     // 1: so have all ranks below it
};

// Device memory of one rank, zero before the first refit.
struct CommitState {
  CommitToken own;
  CommitToken children[kCommitChildren];
  CommitToken verdict;  // of the whole side
  std::uint64_t all_ok = 0;
};

// Host memory that the device writes and the host polls.
struct HostMarks {
  std::uint64_t groups_ended = 0;  // NCCL groups of this refit that have ended
  std::uint64_t refit = 0;         // the refit published last
  std::uint64_t ok = 0;            // whether it was committed; valid once `refit` has been seen
};

// Counts the refit.
[[nodiscard]] int LaunchCommitBegin(CommitState* state, CUstream_st* stream);
// own.ok = 1 where all `children` are ok and of the same refit; with `is_root` that is the verdict.
[[nodiscard]] int LaunchCommitGather(CommitState* state, int children, bool is_root,
                                     CUstream_st* stream);
// Takes the verdict of a side into account.
[[nodiscard]] int LaunchCommitConclude(CommitState* state, CUstream_st* stream);
// `marks` is the device's address of the host's memory; `ok` is there before `refit` is.
[[nodiscard]] int LaunchCommitPublish(const CommitState* state, HostMarks* marks,
                                      CUstream_st* stream);
[[nodiscard]] int LaunchGroupMark(HostMarks* marks, std::uint64_t groups_ended,
                                  CUstream_st* stream);

}  // namespace reshard
