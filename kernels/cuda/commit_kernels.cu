#include "kernels/cuda/commit_kernels.h"

#ifdef __CUDACC__
#include "kernels/cuda/device_launch.cuh"
#else
#include "kernels/cuda/host_launch.h"
#endif

namespace reshard {
namespace {

// One thread each: a few words, and the order of stores counts.

__global__ void BeginKernel(CommitState* state) {
  ++state->own.refit;
  state->all_ok = 1;
}

__global__ void GatherKernel(CommitState* state, int children, bool is_root) {
  std::uint64_t ok = 1;
  for (int c = 0; c < children; ++c) {
    const CommitToken& child = state->children[c];
    if (child.ok != 1 || child.refit != state->own.refit) ok = 0;
  }
  state->own.ok = ok;
  if (is_root) state->verdict = state->own;
}

__global__ void ConcludeKernel(CommitState* state) {
  if (state->verdict.ok != 1 || state->verdict.refit != state->own.refit) state->all_ok = 0;
}

__global__ void PublishKernel(const CommitState* state, HostMarks* marks) {
  StoreForHost(&marks->ok, state->all_ok);
  StoreForHost(&marks->refit, state->own.refit);
}

__global__ void GroupKernel(HostMarks* marks, std::uint64_t groups_ended) {
  StoreForHost(&marks->groups_ended, groups_ended);
}

}  // namespace

int LaunchCommitBegin(CommitState* state, CUstream_st* stream) {
  return Launch(BeginKernel, 1, 1, stream, state);
}

int LaunchCommitGather(CommitState* state, int children, bool is_root, CUstream_st* stream) {
  return Launch(GatherKernel, 1, 1, stream, state, children, is_root);
}

int LaunchCommitConclude(CommitState* state, CUstream_st* stream) {
  return Launch(ConcludeKernel, 1, 1, stream, state);
}

int LaunchCommitPublish(const CommitState* state, HostMarks* marks, CUstream_st* stream) {
  return Launch(PublishKernel, 1, 1, stream, state, marks);
}

int LaunchGroupMark(HostMarks* marks, std::uint64_t groups_ended, CUstream_st* stream) {
  return Launch(GroupKernel, 1, 1, stream, marks, groups_ended);
}

}  // namespace reshard
