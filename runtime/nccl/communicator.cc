#include "runtime/nccl/communicator.h"

#include <nccl.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/deadline.h"
#include "runtime/nccl/cuda_status.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kPollInterval{50};

std::string Place(RankIndex rank) { return "rank " + std::to_string(rank); }

ncclConfig_t MakeConfig(const CommunicatorOptions& options) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  config.commName = "reshard";
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  if (options.channels.channels_per_net_peer > 0) {
    config.nChannelsPerNetPeer = static_cast<int>(options.channels.channels_per_net_peer);
  }
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
  if (options.channels.max_p2p_peers > 0) {
    config.maxP2pPeers = static_cast<int>(options.channels.max_p2p_peers);
  }
#endif
  return config;
}

// Calls `call` on a thread of its own, because it may never return; whether it did in time.
template <typename Call>
bool ReturnsWithin(std::chrono::nanoseconds grace, Call call) {
  struct Outcome {
    std::mutex mutex;
    std::condition_variable returned;
    bool has_returned = false;
  };
  const auto outcome = std::make_shared<Outcome>();
  try {
    std::thread([outcome, call] {
      call();
      // Under the lock, so that who waits sees it and nothing of `outcome` goes early.
      const std::lock_guard lock(outcome->mutex);
      outcome->has_returned = true;
      outcome->returned.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return false;  // no thread to be had: as good as a call that hangs
  }
  std::unique_lock lock(outcome->mutex);
  return outcome->returned.wait_for(lock, grace, [&] { return outcome->has_returned; });
}

}  // namespace

Result<UniqueId> MakeUniqueId() {
  ncclUniqueId id;
  static_assert(sizeof(id.internal) == sizeof(UniqueId));
  const Result<void> made = CheckNccl(ncclGetUniqueId(&id), "NCCL", "no unique id can be made");
  if (!made) return tl::unexpected(made.error());
  UniqueId bytes;
  std::memcpy(bytes.data(), id.internal, sizeof(id.internal));
  return bytes;
}

Result<std::shared_ptr<Communicator>> Communicator::Make(const CommunicatorOptions& options) {
  const Clock::time_point deadline = DeadlineAfter(options.deadline);
  ncclUniqueId id;
  std::memcpy(id.internal, options.id.data(), sizeof(id.internal));
  ncclConfig_t config = MakeConfig(options);
  ncclComm_t handle = nullptr;
  const ncclResult_t made =
      ncclCommInitRankConfig(&handle, options.rank_count, id, options.rank, &config);
  const Result<void> began = CheckNccl(made, Place(options.rank), "a communicator cannot be made",
                                       "start all ranks of the plan once, with one unique id");
  if (!began) return tl::unexpected(began.error());
  const std::shared_ptr<Communicator> communicator(new Communicator(handle, true));
  communicator->rank_ = options.rank;
  communicator->rank_count_ = options.rank_count;
  const Result<void> settled = communicator->Settle(
      deadline, "a communicator of " + std::to_string(options.rank_count) + " ranks");
  if (!settled) {
    // Nothing runs on it yet that would have to be revoked.
    constexpr std::chrono::milliseconds kGrace{500};
    communicator->is_stopped_ = true;
    static_cast<void>(communicator->Release(kGrace));
    return tl::unexpected(settled.error());
  }
  return communicator;
}

Result<std::shared_ptr<Communicator>> Communicator::Adopt(ncclComm* handle) {
  const std::shared_ptr<Communicator> communicator(new Communicator(handle, false));
  Result<void> asked = CheckNccl(ncclCommUserRank(handle, &communicator->rank_), "communicator",
                                 "its rank cannot be read");
  if (asked) {
    asked = CheckNccl(ncclCommCount(handle, &communicator->rank_count_), "communicator",
                      "its size cannot be read");
  }
  if (!asked) return tl::unexpected(asked.error());
  return communicator;
}

Communicator::~Communicator() {
  if (is_stopped_) {
    // Whatever refers to it, graphs of all engines on it, is gone by now.
    constexpr std::chrono::milliseconds kGrace{500};
    if (has_answered_) static_cast<void>(Release(kGrace));
    return;
  }
  if (owned_) static_cast<void>(ncclCommDestroy(handle_));
}

Result<void> Communicator::CheckInUse() const {
  if (!is_stopped_) return {};
  return RunError(Place(rank_), "its communicator was stopped after a failure",
                  "make a new communicator on every rank");
}

Result<void> Communicator::Settle(Clock::time_point deadline, const std::string& what) {
  if (Result<void> in_use = CheckInUse(); !in_use) return in_use;
  for (;;) {
    ncclResult_t state = ncclSuccess;
    Result<void> asked = CheckNccl(ncclCommGetAsyncError(handle_, &state), Place(rank_), what);
    if (asked) asked = CheckNccl(state, Place(rank_), what);
    if (!asked || state == ncclSuccess) return asked;
    if (Clock::now() >= deadline) {
      return RunError(Place(rank_), what + " was not ready in time: not all peers have come",
                      "look at the ranks that are missing, start all of them again");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

Result<void> Communicator::CheckHealth() {
  if (Result<void> in_use = CheckInUse(); !in_use) return in_use;
  ncclResult_t state = ncclSuccess;
  Result<void> asked =
      CheckNccl(ncclCommGetAsyncError(handle_, &state), Place(rank_), "the communicator");
  if (asked) asked = CheckNccl(state, Place(rank_), "the communicator has failed");
  return asked;
}

bool Communicator::Stop(std::chrono::nanoseconds grace) {
  if (is_stopped_) return has_answered_;
  is_stopped_ = true;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
  // Revoking stops what runs and leaves the communicator in place, so that graphs that refer to it
  // can be destroyed before it.
  has_answered_ = ReturnsWithin(grace, [handle = handle_, released = is_released_] {
    const ncclResult_t revoked = ncclCommRevoke(handle, NCCL_REVOKE_DEFAULT);
    if (revoked != ncclSuccess && revoked != ncclInProgress) {
      *released = true;
      static_cast<void>(ncclCommAbort(handle));
      return;
    }
    ncclResult_t state = ncclInProgress;
    while (ncclCommGetAsyncError(handle, &state) == ncclSuccess && state == ncclInProgress) {
      std::this_thread::sleep_for(kPollInterval);
    }
  });
#else
  *is_released_ = true;
  has_answered_ =
      ReturnsWithin(grace, [handle = handle_] { static_cast<void>(ncclCommAbort(handle)); });
#endif
  return has_answered_;
}

bool Communicator::Release(std::chrono::nanoseconds grace) {
  if (is_released_->exchange(true)) return true;
  return ReturnsWithin(grace, [handle = handle_] { static_cast<void>(ncclCommAbort(handle)); });
}

}  // namespace reshard
