// Where the processes of a job that torchrun or anyone else has started hand around a few bytes
// before NCCL can: rank 0 listens, all others come to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

// How a process was started, as torchrun says it in its environment.
struct ProcessPlace {
  RankIndex rank = 0;        // RANK
  RankIndex rank_count = 0;  // WORLD_SIZE
  int device = 0;            // LOCAL_RANK
  std::string host;          // MASTER_ADDR
  // RESHARD_PORT, or one more than MASTER_PORT, where torchrun itself may listen.
  std::uint16_t port = 0;
};

// Fails naming the variable that is missing or no number.
Result<ProcessPlace> ReadProcessPlace();

// Collective: returns what rank 0 passes as `bytes` on every rank; all pass equally many. At the
// deadline rank 0 names the ranks that have not come. Only looking up the host's name may take
// longer, as long as the system's resolver does.
Result<std::string> Broadcast(const ProcessPlace& place, const std::string& bytes,
                              std::chrono::nanoseconds deadline);

}  // namespace reshard
