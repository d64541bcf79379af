// The processes that mpirun started: one rank each.
//
// Nothing here waits for a peer without a deadline, but for Start() and Finish(), in which MPI
// waits for all processes. After a failure a process leaves by _exit: MPI_Finalize would wait for
// the dead.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

class MpiWorld {
 public:
  // Whether a launcher of MPI has started this process as one of several, by what it leaves in the
  // environment.
  static bool IsLaunched();
  // Starts MPI; once in a process. From then on MPI belongs to the thread that called it.
  static Result<MpiWorld> Start();

  // Between Start() and Finish().
  static bool IsRunning();

  RankIndex rank() const { return rank_; }
  RankIndex size() const { return size_; }

  // Among the ranks of this machine, which call it together with all others: 0, 1, ..
  Result<int> LocalRank() const;

  // Each of `values` becomes its minimum over all ranks. All ranks call it with equally many. The
  // error says that not all have within `deadline`; `what` names the occasion in it.
  Result<void> MinimumOverRanks(std::span<std::uint64_t> values, std::chrono::nanoseconds deadline,
                                const std::string& what) const;

  // Ends MPI. For when all ranks are well and call it.
  void Finish() const;

 private:
  MpiWorld(RankIndex rank, RankIndex size) : rank_(rank), size_(size) {}

  RankIndex rank_;
  RankIndex size_;
};

// "pack step: MPI_ERR_TRUNCATE: message truncated" as an error of `place`.
tl::unexpected<Error> MpiError(const std::string& place, const char* call, int status);

}  // namespace reshard
