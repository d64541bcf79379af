// Sends and receives that are under way, and when they end.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

class MpiOperations {
 public:
  // No message has more than `message_bytes`, which are within an int.
  MpiOperations(MPI_Comm communicator, std::string place,
                std::int64_t message_bytes = std::int64_t{1} << 30)
      : communicator_(communicator), place_(std::move(place)), message_bytes_(message_bytes) {}

  // Each starts one operation of `bytes` bytes, cut into messages whose size MPI can count. The
  // messages of a pair of ranks with one tag keep their order.
  Result<void> Send(RankIndex peer, const std::byte* data, std::int64_t bytes, int tag);
  Result<void> Receive(RankIndex peer, std::byte* data, std::int64_t bytes, int tag);

  // Lets MPI work and takes note of what has ended; true if anything has. A message of another size
  // than was expected is an error that names the peer.
  Result<bool> Progress();

  bool AllEnded() const { return requests_.empty(); }
  // Of the operations that have not ended; ascending, each once.
  std::vector<RankIndex> Peers() const;

  // Calls off the receives and waits for the rest, at most for `grace`. False if something may
  // still read or write the memory it was given.
  bool Stop(std::chrono::nanoseconds grace);

 private:
  struct Message {
    RankIndex peer = 0;
    bool is_receive = false;
    std::int64_t bytes = 0;
  };

  MPI_Comm communicator_;
  std::string place_;
  std::int64_t message_bytes_;
  std::vector<MPI_Request> requests_;
  std::vector<Message> messages_;  // one per request
};

}  // namespace reshard
