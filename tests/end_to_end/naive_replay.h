// A job through the whole line: read, compile, verify, write, load each rank's part, replay on
// threads, and compare every parameter of every rank with its naive array.
#pragma once

#include <filesystem>
#include <string>

#include "foundation/error.h"
#include "runtime/host_exchange.h"
#include "schedules/plan.h"
#include "tests/end_to_end/naive_job.h"

namespace reshard {

// Runs jobs in a temporary folder of its own.
class NaiveReplay {
 public:
  NaiveReplay();
  ~NaiveReplay();
  NaiveReplay(const NaiveReplay&) = delete;
  NaiveReplay& operator=(const NaiveReplay&) = delete;

  // Compiles (which verifies) and writes the plan; the error if the job is refused.
  Result<Plan> Compile(const NaiveJob& job) const;

  // Compiles and replays two refits of different values; adds a test failure where a byte of a
  // parameter is not what it must be, untouched bytes and source parameters included.
  void ExpectRight(const NaiveJob& job, const HostOptions& host = {}) const;

 private:
  std::string PathOf(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

}  // namespace reshard
