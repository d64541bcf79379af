// An NCCL communicator over the ranks of a plan: made, polled and stopped with deadlines.
//
// This header needs no NCCL header: an ncclComm* is an ncclComm_t.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "foundation/error.h"
#include "schedules/channel_hints.h"
#include "schedules/job_records.h"

struct ncclComm;

namespace reshard {

using UniqueId = std::array<char, 128>;  // ncclUniqueId

// Made by one rank and handed to all others by whatever means the job has.
Result<UniqueId> MakeUniqueId();

struct CommunicatorOptions {
  UniqueId id = {};
  RankIndex rank = 0;
  RankIndex rank_count = 0;
  // The plan's, the same on all ranks (ReadChannelHints). What NCCL is too old for is left out.
  ChannelHints channels;
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);
};

class Communicator {
 public:
  // Collective: returns when all ranks have come, or the deadline has passed. Non-blocking towards
  // NCCL, so that nothing but the deadline decides how long a call may take.
  static Result<std::shared_ptr<Communicator>> Make(const CommunicatorOptions& options);

  // Uses a communicator of the caller, who destroys it after this object, unless a replay has
  // failed: then this object aborts it in the end (is_stopped()). It should be non-blocking
  // (ncclConfig_t): with a blocking one a peer that is missing holds up Bind for ever. Nothing else
  // may use it.
  static Result<std::shared_ptr<Communicator>> Adopt(ncclComm* communicator);

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  ncclComm* handle() const { return handle_; }
  RankIndex rank() const { return rank_; }
  RankIndex rank_count() const { return rank_count_; }
  bool is_stopped() const { return is_stopped_; }
  // Fails once it is stopped: NCCL may not be called with it any more.
  Result<void> CheckInUse() const;

  // Polls until what was begun last is no longer in progress. `what` in an error: "round 3".
  Result<void> Settle(std::chrono::steady_clock::time_point deadline, const std::string& what);
  // An error that NCCL has noticed since, or none. Never waits.
  Result<void> CheckHealth();

  // Ends what runs on it: true once nothing of it touches memory any more, false if NCCL has not
  // answered within `grace`; then the communicator is lost, and its handle leaked. What is left is
  // freed with this object, which graphs that use the communicator must not outlive.
  bool Stop(std::chrono::nanoseconds grace);

 private:
  // Frees the handle; false if NCCL has not answered within `grace`.
  bool Release(std::chrono::nanoseconds grace);

  Communicator(ncclComm* handle, bool owned) : handle_(handle), owned_(owned) {}

  ncclComm* handle_ = nullptr;
  bool owned_ = false;
  bool is_stopped_ = false;
  bool has_answered_ = false;  // to Stop
  // Shared with a call that may outlive this object.
  std::shared_ptr<std::atomic<bool>> is_released_ = std::make_shared<std::atomic<bool>>(false);
  RankIndex rank_ = 0;
  RankIndex rank_count_ = 0;
};

}  // namespace reshard
