// Puts the work of one refit of one rank onto streams: into a capture, or to be run at once.
//
// Lanes are streams and waits are events. When all three lanes are over come the caller's
// recomputation and the commit; the last thing is a word to the host.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "kernels/cuda/commit_kernels.h"
#include "kernels/cuda/conversion_kernels.h"
#include "kernels/cuda/copy_kernels.h"
#include "runtime/lowering.h"
#include "runtime/nccl/commit_tree.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/device_resources.h"
#include "schedules/replay_record.h"

namespace reshard {

// An NCCL group of a refit: what to say when it does not end.
struct NcclGroup {
  RoundIndex round = 0;
  std::vector<RankIndex> peers;  // ascending
  std::string name;              // "its exchange", "the commit"
};

// What a recorder works with; all of it stays in place while something recorded may run.
struct RecorderInputs {
  std::string place;  // "rank 3"
  const LoweredRank* lowered = nullptr;
  std::vector<TableLocation> packs;  // of each round
  std::vector<TableLocation> unpacks;
  std::vector<ConversionLocation> converted_packs;
  std::vector<ConversionLocation> converted_unpacks;
  std::uint32_t* pack_scratch = nullptr;  // of the largest of them
  std::uint32_t* unpack_scratch = nullptr;
  DeviceTables tables;
  std::byte* staging = nullptr;
  Communicator* communicator = nullptr;
  std::vector<CommitPlace> commit_places;  // one for each side that the rank is of
  CommitState* commit = nullptr;
  HostMarks* marks = nullptr;  // the device's address
  // Bases [1, first_destination_base) are source parameters.
  BaseIndex first_destination_base = 1;
  std::function<Result<void>(cudaStream_t)> recompute;  // may be empty
};

class ReplayRecorder {
 public:
  static Result<std::unique_ptr<ReplayRecorder>> Make(RecorderInputs inputs);

  // From the next Capture() or Issue() on events measure when steps begin and end.
  Result<void> TimeSteps();

  // Puts everything into a graph. NCCL's connections to peers are made on the way, at most until
  // `deadline`.
  Result<OwnedGraphExec> Capture(std::chrono::steady_clock::time_point deadline);

  // Puts everything after what is in `stream`, and what comes there later after everything.
  Result<void> Issue(cudaStream_t stream, std::chrono::steady_clock::time_point deadline);

  // The NCCL groups in the order in which HostMarks::groups_ended counts them. Valid after one of
  // the two.
  const std::vector<NcclGroup>& groups() const { return groups_; }
  // Fires in every refit when the last byte has left the source parameters.
  cudaEvent_t source_released() const { return source_released_.get(); }
  // Of the last refit, which is over: in the order of their ends, nanoseconds from its beginning on
  // the device's clock. Steps with nothing to do are none. Empty unless they are timed.
  Result<std::vector<StepTime>> StepTimes() const;
  // Whether all streams are idle: nothing that Issue() began, or a capture that was given up, runs.
  bool IsIdle() const;

 private:
  explicit ReplayRecorder(RecorderInputs inputs) : in_(std::move(inputs)) {}

  using TimePoint = std::chrono::steady_clock::time_point;
  Result<void> MakeResources();
  Result<void> Record(bool is_captured, TimePoint deadline);
  Result<void> RecordLanes(TimePoint deadline);
  Result<void> RecordStep(Lane lane, RoundIndex step, TimePoint deadline);
  // Records an event of each refit; nothing where it is null.
  Result<void> RecordEvent(const OwnedEvent& event, cudaStream_t stream);
  Result<void> RecordWork(Lane lane, RoundIndex step, TimePoint deadline);
  Result<void> RecordSourceRelease();
  Result<void> RecordRecompute();
  Result<void> RecordCommit(TimePoint deadline);
  Result<void> RecordCommitOfSide(const CommitPlace& place, TimePoint deadline);
  Result<void> RecordGroup(RoundIndex round, const std::string& name,
                           const std::vector<ExchangeOperation>& sends, const std::byte* send_base,
                           const std::vector<ExchangeOperation>& receives, std::byte* receive_base,
                           TimePoint deadline);
  Result<void> Order(cudaStream_t first, cudaEvent_t event, cudaStream_t then);
  Result<void> Check(cudaError_t status) const;

  cudaStream_t StreamOf(Lane lane) const { return lanes_[static_cast<std::size_t>(lane)].get(); }
  cudaEvent_t EndOf(Lane lane, RoundIndex step) const {
    return ends_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(step)].get();
  }

  // Events that measure when a step with something to do began and ended.
  struct TimedStep {
    Lane lane = Lane::kPack;
    RoundIndex step = 0;
    OwnedEvent begin;
    OwnedEvent end;
  };
  TimedStep* TimedStepOf(Lane lane, RoundIndex step);

  RecorderInputs in_;
  OwnedStream lanes_[kLaneCount];
  OwnedStream marks_;    // tells the host of groups that have ended, beside the lanes
  OwnedStream release_;  // waits for the last read of source parameters, beside the lanes
  std::vector<OwnedEvent> ends_[kLaneCount];  // of every step
  OwnedEvent begin_;
  OwnedEvent group_ended_;
  OwnedEvent joined_;
  OwnedEvent source_released_;
  bool is_captured_ = false;                  // what is being recorded
  OwnedEvent refit_begins_;                   // null unless steps are timed
  std::vector<TimedStep> timed_[kLaneCount];  // ascending by step
  std::vector<NcclGroup> groups_;
};

}  // namespace reshard
