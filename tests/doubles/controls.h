// What a test orders the doubles to do, and what they saw.
//
// The doubles stand in for the CUDA runtime and NCCL at link time: the same functions, with threads
// for streams and host memory for the device's. Ranks are threads of one process, one thread that
// plays them all, or processes of one machine (shared_world.h).
#pragma once

#include <cstdint>

namespace reshard::doubles {

struct Controls {
  // cudaMalloc fails beyond this many bytes in use.
  std::int64_t device_bytes = std::int64_t{4} << 30;
  // Operations of one NCCL group that make progress together; a longer list of a rank is cut, and
  // each cut starts when the one before has ended (field notes, section 2).
  std::int64_t group_budget = 8192;
  // ncclCommAbort and ncclCommRevoke do not return, until this is false again.
  bool abort_hangs = false;
  // So many polls of a non-blocking communicator say "in progress" after every group.
  int polls_in_progress = 0;
  // Order of whatever CUDA and NCCL leave unordered.
  std::uint64_t seed = 1;
};

// Of the whole process. Change it with SetControls only: others may read it at that time.
Controls GetControls();
void SetControls(const Controls& controls);

// Calls of one thread.
struct Calls {
  std::int64_t graph_launches = 0;
  std::int64_t kernel_launches = 0;  // not while capturing
  std::int64_t copies = 0;           // cudaMemcpy and cudaMemset of any kind; not while capturing
  std::int64_t nccl_groups = 0;
  std::int64_t allocations = 0;        // of memory, streams, events, graphs
  std::int64_t synchronizations = 0;   // calls that wait
  std::int64_t queries = 0;            // calls that ask and do not wait
  std::int64_t records_and_waits = 0;  // events; not while capturing
  bool operator==(const Calls&) const = default;
};
Calls& CallsOfThisThread();

// Things of the whole process that exist now.
struct Live {
  std::int64_t device_bytes = 0;
  std::int64_t device_allocations = 0;
  std::int64_t pinned_allocations = 0;
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t graphs = 0;
  std::int64_t executable_graphs = 0;
  std::int64_t communicators = 0;
  std::int64_t registrations = 0;
  bool operator==(const Live&) const = default;
};
Live LiveObjects();

// Fields of Live, by pointer to member; thread-safe.
void CountLive(std::int64_t Live::*field, std::int64_t change);

}  // namespace reshard::doubles
