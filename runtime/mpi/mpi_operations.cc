#include "runtime/mpi/mpi_operations.h"

#include <algorithm>
#include <thread>

#include "runtime/mpi/mpi_world.h"

namespace reshard {
Result<void> MpiOperations::Send(RankIndex peer, const std::byte* data, std::int64_t bytes,
                                 int tag) {
  for (std::int64_t begin = 0; begin < bytes; begin += message_bytes_) {
    const std::int64_t size = std::min(message_bytes_, bytes - begin);
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = MPI_Isend(data + begin, static_cast<int>(size), MPI_BYTE, peer, tag,
                                 communicator_, &request);
    if (status != MPI_SUCCESS) return MpiError(place_, "MPI_Isend", status);
    requests_.push_back(request);
    messages_.push_back({peer, false, size});
  }
  return {};
}

Result<void> MpiOperations::Receive(RankIndex peer, std::byte* data, std::int64_t bytes, int tag) {
  for (std::int64_t begin = 0; begin < bytes; begin += message_bytes_) {
    const std::int64_t size = std::min(message_bytes_, bytes - begin);
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = MPI_Irecv(data + begin, static_cast<int>(size), MPI_BYTE, peer, tag,
                                 communicator_, &request);
    if (status != MPI_SUCCESS) return MpiError(place_, "MPI_Irecv", status);
    requests_.push_back(request);
    messages_.push_back({peer, true, size});
  }
  return {};
}

Result<bool> MpiOperations::Progress() {
  bool any_ended = false;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int has_ended = 0;
    MPI_Status state;
    const int status = MPI_Test(&requests_[i], &has_ended, &state);
    const Message& message = messages_[i];
    if (status != MPI_SUCCESS) {
      return MpiError(place_ + ", rank " + std::to_string(message.peer), "MPI_Test", status);
    }
    if (has_ended == 0) continue;
    any_ended = true;
    int received = 0;
    if (message.is_receive) MPI_Get_count(&state, MPI_BYTE, &received);
    if (message.is_receive && received != message.bytes) {
      return RunError(place_,
                      "rank " + std::to_string(message.peer) + " sent " + std::to_string(received) +
                          " bytes where " + std::to_string(message.bytes) + " were expected",
                      "load the same plan file on every rank");
    }
  }
  if (!any_ended) return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    messages_[kept] = messages_[i];
    ++kept;
  }
  requests_.resize(kept);
  messages_.resize(kept);
  return true;
}

std::vector<RankIndex> MpiOperations::Peers() const {
  std::vector<RankIndex> peers;
  for (const Message& message : messages_) peers.push_back(message.peer);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

bool MpiOperations::Stop(std::chrono::nanoseconds grace) {
  const auto end = std::chrono::steady_clock::now() + grace;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (messages_[i].is_receive && requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
  }
  for (;;) {
    int all_ended = 1;
    for (MPI_Request& request : requests_) {
      int has_ended = 0;
      // A receive that failed has ended as well.
      MPI_Test(&request, &has_ended, MPI_STATUS_IGNORE);
      if (request != MPI_REQUEST_NULL && has_ended == 0) all_ended = 0;
    }
    if (all_ended != 0) {
      requests_.clear();
      messages_.clear();
      return true;
    }
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
}

}  // namespace reshard
