// The functions of NCCL.
#include <nccl.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"
#include "tests/doubles/nccl_world.h"
#include "tests/doubles/stream.h"

using reshard::doubles::CallsOfThisThread;
using reshard::doubles::CountLive;
using reshard::doubles::Endpoint;
using reshard::doubles::GetControls;
using reshard::doubles::Live;
using reshard::doubles::PointToPoint;
using reshard::doubles::TheProgress;

struct ncclComm {
  std::shared_ptr<Endpoint> endpoint;
  std::set<char*> registrations;
  bool blocking = true;
  std::optional<ncclConfig_t> config;
  // A group of a non-blocking communicator that is not launched yet: its peers are not connected,
  // or it has been polled too few times.
  std::shared_ptr<const std::vector<PointToPoint>> pending;
  std::function<void()> then;  // what the stream does after it; may be empty
  cudaStream_t pending_stream = nullptr;
  int polls_left = 0;
};

namespace {

struct OpenGroup {
  int depth = 0;
  ncclComm* communicator = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<PointToPoint> operations;
  std::function<void()> then;  // of a collective that computes
};

OpenGroup& GroupOfThisThread() {
  thread_local OpenGroup group;
  return group;
}

// With the lock held.
bool IsReady(const ncclComm& communicator) {
  const Endpoint& endpoint = *communicator.endpoint;
  if (!endpoint.world->IsComplete()) return false;
  if (communicator.pending == nullptr) return true;
  for (const PointToPoint& operation : *communicator.pending) {
    if (!endpoint.world->IsConnected(endpoint.rank, operation.peer)) return false;
  }
  return true;
}

void LaunchPending(ncclComm& communicator) {
  const auto operations = std::exchange(communicator.pending, nullptr);
  if (operations == nullptr) return;
  communicator.pending_stream->Add([endpoint = communicator.endpoint, operations] {
    return reshard::doubles::RunGroup(endpoint, operations);
  });
  const auto then = std::exchange(communicator.then, nullptr);
  if (then) communicator.pending_stream->Add(reshard::doubles::Work(then));
}

ncclResult_t Launch(OpenGroup group) {
  ncclComm* const communicator = group.communicator;
  if (communicator == nullptr) return ncclSuccess;
  if (communicator->pending != nullptr) return ncclInvalidUsage;
  ++CallsOfThisThread().nccl_groups;
  communicator->pending =
      std::make_shared<const std::vector<PointToPoint>>(std::move(group.operations));
  communicator->pending_stream = group.stream;
  communicator->then = std::move(group.then);
  communicator->polls_left = GetControls().polls_in_progress;
  std::unique_lock lock(TheProgress().mutex);
  Endpoint& endpoint = *communicator->endpoint;
  for (const PointToPoint& operation : *communicator->pending) {
    endpoint.world->WantPeer(endpoint.rank, operation.peer);
  }
  if (communicator->blocking) {
    TheProgress().changed.wait(lock, [&] { return IsReady(*communicator); });
  } else if (!IsReady(*communicator) || communicator->polls_left > 0) {
    return ncclInProgress;
  }
  lock.unlock();
  LaunchPending(*communicator);
  return ncclSuccess;
}

ncclResult_t Add(PointToPoint operation, ncclDataType_t type, ncclComm* communicator,
                 cudaStream_t stream) {
  if (type != ncclInt8 && type != ncclUint8) return ncclInvalidArgument;
  OpenGroup& group = GroupOfThisThread();
  {
    const std::lock_guard lock(TheProgress().mutex);
    if (communicator->endpoint->aborted || operation.peer < 0 ||
        operation.peer >= communicator->endpoint->world->rank_count()) {
      return ncclInvalidArgument;
    }
  }
  if (stream == nullptr || !reshard::doubles::IsDevice(operation.data, operation.bytes)) {
    return ncclInvalidArgument;
  }
  // More than the runtime uses: one communicator and one stream in a group.
  const bool is_first = group.communicator == nullptr;
  if (!is_first && (group.communicator != communicator || group.stream != stream)) {
    return ncclInvalidUsage;
  }
  group.communicator = communicator;
  group.stream = stream;
  group.operations.push_back(operation);
  if (group.depth > 0) return ncclSuccess;
  return Launch(std::exchange(group, OpenGroup{}));
}

// Hangs while the test wants it to.
void HangOnDemand() {
  std::unique_lock lock(TheProgress().mutex);
  TheProgress().changed.wait(lock, [] { return !GetControls().abort_hangs; });
}

void Free(ncclComm* communicator) {
  {
    const std::lock_guard lock(TheProgress().mutex);
    Abort(*communicator->endpoint);
    communicator->endpoint->world.reset();
  }
  for (char* const registration : communicator->registrations) delete registration;
  CountLive(&Live::registrations, -static_cast<std::int64_t>(communicator->registrations.size()));
  delete communicator;
  CountLive(&Live::communicators, -1);
}

}  // namespace

namespace reshard::doubles {

const ncclConfig_t* ConfigOf(ncclComm_t communicator) {
  return communicator->config ? &*communicator->config : nullptr;
}

void KillRank(ncclComm_t communicator, std::int64_t groups, std::int64_t operations) {
  const std::lock_guard lock(TheProgress().mutex);
  Endpoint& endpoint = *communicator->endpoint;
  endpoint.dies_at = endpoint.groups_begun + groups;
  endpoint.operations_before_death = operations;
}

void SlowDown(ncclComm_t communicator, std::chrono::microseconds delay_before_group) {
  const std::lock_guard lock(TheProgress().mutex);
  communicator->endpoint->delay = delay_before_group;
}

void FailAsynchronously(ncclComm_t communicator, ncclResult_t error) {
  const std::lock_guard lock(TheProgress().mutex);
  communicator->endpoint->async_error = error;
}

}  // namespace reshard::doubles

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = reshard::doubles::MakeId();
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  *communicator = nullptr;
  auto endpoint = std::make_shared<Endpoint>();
  endpoint->rank = rank;
  if (JoinWorld(id, ranks, endpoint) == nullptr) return ncclInvalidArgument;
  auto* const made = new ncclComm;
  made->endpoint = std::move(endpoint);
  made->blocking = config == nullptr || config->blocking != 0;
  if (config != nullptr) made->config = *config;
  CountLive(&Live::communicators, 1);
  *communicator = made;
  std::unique_lock lock(TheProgress().mutex);
  if (!made->blocking) return IsReady(*made) ? ncclSuccess : ncclInProgress;
  TheProgress().changed.wait(lock, [made] { return IsReady(*made); });
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(communicator, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  {
    const std::lock_guard lock(TheProgress().mutex);
    *error = communicator->endpoint->async_error;
    // Once revoked it is quiescent.
    if (*error != ncclSuccess || communicator->endpoint->aborted) return ncclSuccess;
    if (!IsReady(*communicator)) *error = ncclInProgress;
  }
  if (*error == ncclSuccess && communicator->pending != nullptr) {
    if (communicator->polls_left > 0) {
      --communicator->polls_left;
      *error = ncclInProgress;
    } else {
      LaunchPending(*communicator);
    }
  }
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int* count) {
  const std::lock_guard lock(TheProgress().mutex);
  *count = communicator->endpoint->world->rank_count();
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int* rank) {
  *rank = communicator->endpoint->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t communicator, int) {
  HangOnDemand();
  const std::lock_guard lock(TheProgress().mutex);
  communicator->pending.reset();
  communicator->then = nullptr;
  Abort(*communicator->endpoint);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  HangOnDemand();
  Free(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  Free(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t communicator, void* buffer, size_t bytes,
                              void** handle) {
  if (!reshard::doubles::IsDevice(buffer, bytes)) return ncclInvalidArgument;
  *handle = *communicator->registrations.insert(new char).first;
  CountLive(&Live::registrations, 1);
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void* handle) {
  if (communicator->registrations.erase(static_cast<char*>(handle)) == 0) {
    return ncclInvalidArgument;
  }
  delete static_cast<char*>(handle);
  CountLive(&Live::registrations, -1);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++GroupOfThisThread().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  OpenGroup& group = GroupOfThisThread();
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  return Launch(std::exchange(group, OpenGroup{}));
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(data));
  return Add({true, peer, bytes, count}, type, communicator, stream);
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return Add({false, peer, static_cast<std::byte*>(data), count}, type, communicator, stream);
}

// As a group of a send to and a receive from everyone, oneself too.
ncclResult_t ncclAllGather(const void* data, void* all, size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  int ranks = 0;
  ncclCommCount(communicator, &ranks);
  ncclGroupStart();
  for (int rank = 0; rank < ranks; ++rank) {
    std::byte* const place = static_cast<std::byte*>(all) + count * static_cast<std::size_t>(rank);
    ncclResult_t added = ncclSend(data, count, type, rank, communicator, stream);
    if (added == ncclSuccess) added = ncclRecv(place, count, type, rank, communicator, stream);
    if (added != ncclSuccess) return added;
  }
  return ncclGroupEnd();
}

// As everyone's values to everyone, into memory of its own as NCCL's buffers are, and then the
// minimum; the runtime wants no more.
ncclResult_t ncclAllReduce(const void* data, void* reduced, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclUint64 || operation != ncclMin || GroupOfThisThread().depth > 0) {
    return ncclInvalidArgument;
  }
  const std::size_t bytes = count * sizeof(std::uint64_t);
  if (stream == nullptr || !reshard::doubles::IsDevice(data, bytes) ||
      !reshard::doubles::IsDevice(reduced, bytes)) {
    return ncclInvalidArgument;
  }
  int ranks = 0;
  ncclCommCount(communicator, &ranks);
  const auto all = std::make_shared<std::vector<std::uint64_t>>(count * static_cast<size_t>(ranks));
  OpenGroup group;
  group.communicator = communicator;
  group.stream = stream;
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t* const place = all->data() + count * static_cast<std::size_t>(rank);
    group.operations.push_back(
        {true, rank, static_cast<std::byte*>(const_cast<void*>(data)), bytes});
    group.operations.push_back({false, rank, reinterpret_cast<std::byte*>(place), bytes});
  }
  group.then = [all, reduced, count] {
    auto* const minimum = reinterpret_cast<std::uint64_t*>(reshard::doubles::InOpenView(reduced));
    std::copy_n(all->begin(), count, minimum);
    for (std::size_t i = count; i < all->size(); ++i) {
      minimum[i % count] = std::min(minimum[i % count], (*all)[i]);
    }
  };
  return Launch(std::move(group));
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInProgress:
      return "operation in progress";
    default:
      return "internal error";
  }
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

}  // extern "C"
