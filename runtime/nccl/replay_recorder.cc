#include "runtime/nccl/replay_recorder.h"

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "runtime/lane_progress.h"
#include "runtime/nccl/cuda_status.h"
#include "runtime/rank_list.h"

namespace reshard {
namespace {

constexpr Lane kLanes[] = {Lane::kPack, Lane::kExchange, Lane::kUnpack};

// More in one group have hung NCCL (field notes, section 2); verified plans stay far below.
constexpr std::size_t kOperationsPerGroup = 8192;

bool ReadsSource(const CopyTable& table, BaseIndex first_destination_base) {
  return std::any_of(table.rows().begin(), table.rows().end(), [&](const CopyTable::Row& row) {
    return row.source_base != kStagingBase && row.source_base < first_destination_base;
  });
}

std::vector<RankIndex> PeersOf(const std::vector<ExchangeOperation>& sends,
                               const std::vector<ExchangeOperation>& receives) {
  std::vector<RankIndex> peers;
  for (const auto* operations : {&sends, &receives}) {
    for (const ExchangeOperation& operation : *operations) peers.push_back(operation.peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace

Result<std::unique_ptr<ReplayRecorder>> ReplayRecorder::Make(RecorderInputs inputs) {
  std::unique_ptr<ReplayRecorder> recorder(new ReplayRecorder(std::move(inputs)));
  Result<void> made = recorder->MakeResources();
  if (!made) return tl::unexpected(made.error());
  return recorder;
}

Result<void> ReplayRecorder::MakeResources() {
  for (OwnedStream* stream : {&lanes_[0], &lanes_[1], &lanes_[2], &marks_, &release_}) {
    Result<OwnedStream> made = MakeStream(in_.place);
    if (!made) return tl::unexpected(made.error());
    *stream = *std::move(made);
  }
  std::vector<OwnedEvent*> events = {&begin_, &group_ended_, &joined_, &source_released_};
  for (std::vector<OwnedEvent>& ends : ends_) {
    ends.resize(in_.lowered->rounds.size());
    for (OwnedEvent& end : ends) events.push_back(&end);
  }
  for (OwnedEvent* event : events) {
    Result<OwnedEvent> made = MakeEvent(in_.place);
    if (!made) return tl::unexpected(made.error());
    *event = *std::move(made);
  }
  return {};
}

Result<void> ReplayRecorder::Check(cudaError_t status) const {
  return CheckCuda(status, in_.place, "the refit cannot be put onto its streams");
}

Result<void> ReplayRecorder::Order(cudaStream_t first, cudaEvent_t event, cudaStream_t then) {
  Result<void> done = Check(cudaEventRecord(event, first));
  if (done) done = Check(cudaStreamWaitEvent(then, event, 0));
  return done;
}

Result<OwnedGraphExec> ReplayRecorder::Capture(TimePoint deadline) {
  const cudaStream_t origin = StreamOf(Lane::kExchange);
  // Of this thread only: other ranks and other work of the process go on.
  Result<void> done = Check(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  if (!done) return tl::unexpected(done.error());
  const Result<void> recorded = Record(true, deadline);
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(origin, &captured);
  const OwnedGraph graph(captured);
  if (!recorded) {
    static_cast<void>(cudaGetLastError());
    return tl::unexpected(recorded.error());
  }
  done = CheckCuda(ended, in_.place, "the refit cannot be captured into a graph",
                   "replay without a graph (eager mode)");
  if (!done) return tl::unexpected(done.error());
  cudaGraphExec_t executable = nullptr;
  done = CheckCuda(cudaGraphInstantiate(&executable, graph.get(), 0), in_.place,
                   "the graph of the refit cannot be made", "replay without a graph (eager mode)");
  if (!done) return tl::unexpected(done.error());
  OwnedGraphExec owned(executable);
  done = Check(cudaGraphUpload(executable, origin));
  if (!done) return tl::unexpected(done.error());
  return owned;
}

Result<void> ReplayRecorder::Issue(cudaStream_t stream, TimePoint deadline) {
  Result<void> done = Order(stream, begin_.get(), StreamOf(Lane::kExchange));
  if (done) done = Record(false, deadline);
  if (done) done = Order(StreamOf(Lane::kExchange), joined_.get(), stream);
  return done;
}

Result<void> ReplayRecorder::Record(bool is_captured, TimePoint deadline) {
  groups_.clear();
  is_captured_ = is_captured;
  const cudaStream_t exchange = StreamOf(Lane::kExchange);
  // The refit is counted first: a rank that never gets to its end has counted it, too.
  Result<void> done = CheckLaunch(LaunchCommitBegin(in_.commit, exchange), in_.place,
                                  "the refit cannot be counted");
  if (done) done = Check(cudaEventRecord(begin_.get(), exchange));
  for (const cudaStream_t stream :
       {StreamOf(Lane::kPack), StreamOf(Lane::kUnpack), marks_.get(), release_.get()}) {
    if (done) done = Check(cudaStreamWaitEvent(stream, begin_.get(), 0));
  }
  if (done) done = RecordEvent(refit_begins_, exchange);
  if (done) done = RecordLanes(deadline);
  if (done) done = RecordSourceRelease();
  for (const Lane lane : {Lane::kPack, Lane::kUnpack}) {
    if (done) done = Order(StreamOf(lane), joined_.get(), exchange);
  }
  if (done) done = RecordRecompute();
  if (done) done = RecordCommit(deadline);
  for (const cudaStream_t stream : {marks_.get(), release_.get()}) {
    if (done) done = Order(stream, joined_.get(), exchange);
  }
  if (!done) return done;
  return CheckLaunch(LaunchCommitPublish(in_.commit, in_.marks, exchange), in_.place,
                     "the version cannot be published");
}

Result<void> ReplayRecorder::RecordLanes(TimePoint deadline) {
  LaneProgress progress(in_.lowered->waits, static_cast<RoundIndex>(in_.lowered->rounds.size()));
  while (!progress.IsDone()) {
    bool moved = false;
    for (const Lane lane : kLanes) {
      if (!progress.CanBegin(lane)) continue;
      Result<void> recorded = RecordStep(lane, progress.Begin(lane), deadline);
      if (!recorded) return recorded;
      progress.End(lane);
      moved = true;
    }
    if (!moved) {
      return InputError(in_.place, "no order of its steps obeys the waits of its part of the plan",
                        "verify the plan");
    }
  }
  return {};
}

Result<void> ReplayRecorder::RecordStep(Lane lane, RoundIndex step, TimePoint deadline) {
  const cudaStream_t stream = StreamOf(lane);
  Result<void> done;
  for (const Wait& wait : in_.lowered->waits) {
    if (wait.lane != lane || step < wait.lag || wait.on == lane) continue;
    done = Check(cudaStreamWaitEvent(stream, EndOf(wait.on, step - wait.lag), 0));
    if (!done) return done;
  }
  TimedStep* const timed = TimedStepOf(lane, step);
  if (timed != nullptr) done = RecordEvent(timed->begin, stream);
  if (done) done = RecordWork(lane, step, deadline);
  if (done && timed != nullptr) done = RecordEvent(timed->end, stream);
  if (!done) return done;
  return Check(cudaEventRecord(EndOf(lane, step), stream));
}

Result<void> ReplayRecorder::RecordWork(Lane lane, RoundIndex step, TimePoint deadline) {
  const cudaStream_t stream = StreamOf(lane);
  const auto round = static_cast<std::size_t>(step);
  const auto copy_and_convert = [&](const TableLocation& copies,
                                    const ConversionLocation& conversions, std::uint32_t* scratch,
                                    const char* what) -> Result<void> {
    const std::string name = what + std::to_string(step);
    Result<void> done = CheckLaunch(LaunchCopies(in_.tables, copies, stream), in_.place, name);
    if (!done) return done;
    return CheckLaunch(LaunchConversions(in_.tables, conversions, scratch, stream), in_.place,
                       "conversions of " + name);
  };
  switch (lane) {
    case Lane::kPack:
      return copy_and_convert(in_.packs[round], in_.converted_packs[round], in_.pack_scratch,
                              "pack step ");
    case Lane::kExchange: {
      const LoweredRound& lowered = in_.lowered->rounds[round];
      return RecordGroup(step, "its exchange", lowered.sends, in_.staging, lowered.receives,
                         in_.staging, deadline);
    }
    case Lane::kUnpack:
      return copy_and_convert(in_.unpacks[round], in_.converted_unpacks[round], in_.unpack_scratch,
                              "unpack step ");
  }
  return {};
}

Result<void> ReplayRecorder::TimeSteps() {
  if (refit_begins_ != nullptr) return {};
  const auto make = [this](OwnedEvent& event) -> Result<void> {
    Result<OwnedEvent> made = MakeEvent(in_.place, true);
    if (!made) return tl::unexpected(made.error());
    event = *std::move(made);
    return {};
  };
  Result<void> done;
  for (const Lane lane : kLanes) {
    timed_[static_cast<std::size_t>(lane)].clear();  // of a call that failed
    for (std::size_t r = 0; done && r < in_.lowered->rounds.size(); ++r) {
      const LoweredRound& round = in_.lowered->rounds[r];
      const bool has_work =
          lane == Lane::kPack     ? !round.pack.empty() || !round.converted_pack.empty()
          : lane == Lane::kUnpack ? !round.unpack.empty() || !round.converted_unpack.empty()
                                  : !round.sends.empty() || !round.receives.empty();
      if (!has_work) continue;
      TimedStep& timed = timed_[static_cast<std::size_t>(lane)].emplace_back();
      timed.lane = lane;
      timed.step = static_cast<RoundIndex>(r);
      done = make(timed.begin);
      if (done) done = make(timed.end);
    }
  }
  if (done) done = make(refit_begins_);  // the last: it says that all are there
  return done;
}

ReplayRecorder::TimedStep* ReplayRecorder::TimedStepOf(Lane lane, RoundIndex step) {
  std::vector<TimedStep>& timed = timed_[static_cast<std::size_t>(lane)];
  const auto found =
      std::lower_bound(timed.begin(), timed.end(), step,
                       [](const TimedStep& t, RoundIndex wanted) { return t.step < wanted; });
  return found == timed.end() || found->step != step ? nullptr : &*found;
}

Result<void> ReplayRecorder::RecordEvent(const OwnedEvent& event, cudaStream_t stream) {
  if (event == nullptr) return {};
  // In a graph an ordinary record would only order nodes; this one is carried out at every replay.
  return Check(cudaEventRecordWithFlags(
      event.get(), stream, is_captured_ ? cudaEventRecordExternal : cudaEventRecordDefault));
}

Result<std::vector<StepTime>> ReplayRecorder::StepTimes() const {
  std::vector<StepTime> steps;
  for (const std::vector<TimedStep>& lane : timed_) {
    for (const TimedStep& timed : lane) {
      StepTime step = {in_.lowered->rank, timed.lane, timed.step, 0, 0};
      for (const auto& [event, time] : {std::pair(timed.begin.get(), &step.start_ns),
                                        std::pair(timed.end.get(), &step.end_ns)}) {
        float milliseconds = 0;
        const Result<void> read =
            CheckCuda(cudaEventElapsedTime(&milliseconds, refit_begins_.get(), event), in_.place,
                      "when a step ran cannot be read");
        if (!read) return tl::unexpected(read.error());
        *time = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
      }
      steps.push_back(step);
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepTime& a, const StepTime& b) { return a.end_ns < b.end_ns; });
  return steps;
}

Result<void> ReplayRecorder::RecordGroup(RoundIndex round, const std::string& name,
                                         const std::vector<ExchangeOperation>& sends,
                                         const std::byte* send_base,
                                         const std::vector<ExchangeOperation>& receives,
                                         std::byte* receive_base, TimePoint deadline) {
  if (sends.empty() && receives.empty()) return {};
  if (sends.size() + receives.size() > kOperationsPerGroup) {
    return InputError(in_.place,
                      "round " + std::to_string(round) + " has " +
                          std::to_string(sends.size() + receives.size()) +
                          " operations, more than NCCL groups are known to end with",
                      "lower options.maxOpsPerGroup and compile again");
  }
  const cudaStream_t exchange = StreamOf(Lane::kExchange);
  const ncclComm_t communicator = in_.communicator->handle();
  groups_.push_back({round, PeersOf(sends, receives), name});
  ncclResult_t status = ncclGroupStart();
  for (const ExchangeOperation& receive : receives) {
    if (status > ncclSuccess && status != ncclInProgress) break;
    status = ncclRecv(receive_base + receive.offset, static_cast<std::size_t>(receive.bytes),
                      ncclInt8, receive.peer, communicator, exchange);
  }
  for (const ExchangeOperation& send : sends) {
    if (status > ncclSuccess && status != ncclInProgress) break;
    status = ncclSend(send_base + send.offset, static_cast<std::size_t>(send.bytes), ncclInt8,
                      send.peer, communicator, exchange);
  }
  const ncclResult_t ended = ncclGroupEnd();
  const std::string what =
      "round " + std::to_string(round) + ", " + name + " with " + RankList(groups_.back().peers);
  Result<void> done = CheckNccl(status, in_.place, what);
  if (done) done = CheckNccl(ended, in_.place, what);
  if (done) done = in_.communicator->Settle(deadline, what);
  if (done) done = Order(exchange, group_ended_.get(), marks_.get());
  if (!done) return done;
  return CheckLaunch(LaunchGroupMark(in_.marks, groups_.size(), marks_.get()), in_.place,
                     "a group cannot be marked");
}

Result<void> ReplayRecorder::RecordSourceRelease() {
  const std::vector<LoweredRound>& rounds = in_.lowered->rounds;
  std::optional<RoundIndex> last_pack;
  std::optional<RoundIndex> last_unpack;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (!rounds[r].converted_pack.empty() ||
        ReadsSource(rounds[r].pack, in_.first_destination_base)) {
      last_pack = static_cast<RoundIndex>(r);
    }
    if (!rounds[r].converted_unpack.empty() ||
        ReadsSource(rounds[r].unpack, in_.first_destination_base)) {
      last_unpack = static_cast<RoundIndex>(r);
    }
  }
  Result<void> done;
  if (last_pack) {
    done = Check(cudaStreamWaitEvent(release_.get(), EndOf(Lane::kPack, *last_pack), 0));
  }
  if (done && last_unpack) {
    done = Check(cudaStreamWaitEvent(release_.get(), EndOf(Lane::kUnpack, *last_unpack), 0));
  }
  if (!done) return done;
  return RecordEvent(source_released_, release_.get());
}

Result<void> ReplayRecorder::RecordRecompute() {
  if (!in_.recompute) return {};
  const cudaStream_t exchange = StreamOf(Lane::kExchange);
  Result<void> done = in_.recompute(exchange);
  if (!done || !is_captured_) return done;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  done = Check(cudaStreamIsCapturing(exchange, &status));
  if (!done || status == cudaStreamCaptureStatusActive) return done;
  return RunError(in_.place, "the recomputation after install did what a graph cannot capture",
                  "make it launch work on the stream it is given and nothing else, or replay "
                  "without a graph (eager mode)");
}

Result<void> ReplayRecorder::RecordCommit(TimePoint deadline) {
  for (const CommitPlace& place : in_.commit_places) {
    Result<void> done = RecordCommitOfSide(place, deadline);
    if (!done) return done;
  }
  return {};
}

Result<void> ReplayRecorder::RecordCommitOfSide(const CommitPlace& place, TimePoint deadline) {
  constexpr std::int64_t kTokenBytes = sizeof(CommitToken);
  const auto round = static_cast<RoundIndex>(in_.lowered->rounds.size());
  const cudaStream_t exchange = StreamOf(Lane::kExchange);
  const auto group = [&](const std::vector<ExchangeOperation>& sends, CommitToken* sent,
                         const std::vector<ExchangeOperation>& receives, CommitToken* received) {
    return RecordGroup(round, "the commit", sends, reinterpret_cast<std::byte*>(sent), receives,
                       reinterpret_cast<std::byte*>(received), deadline);
  };
  std::vector<ExchangeOperation> from_children;
  std::vector<ExchangeOperation> to_children;
  for (const RankIndex child : place.children) {
    const auto offset = static_cast<std::int64_t>(from_children.size()) * kTokenBytes;
    from_children.push_back({child, offset, kTokenBytes});
    to_children.push_back({child, 0, kTokenBytes});
  }
  Result<void> done = group({}, nullptr, from_children, in_.commit->children);
  if (!done) return done;
  done = CheckLaunch(LaunchCommitGather(in_.commit, static_cast<int>(place.children.size()),
                                        !place.parent.has_value(), exchange),
                     in_.place, "the commit");
  if (done && place.parent) {
    const std::vector<ExchangeOperation> with_parent = {{*place.parent, 0, kTokenBytes}};
    done = group(with_parent, &in_.commit->own, with_parent, &in_.commit->verdict);
  }
  if (done) done = CheckLaunch(LaunchCommitConclude(in_.commit, exchange), in_.place, "the commit");
  if (done) done = group(to_children, &in_.commit->verdict, {}, nullptr);
  return done;
}

bool ReplayRecorder::IsIdle() const {
  for (const cudaStream_t stream : {StreamOf(Lane::kPack), StreamOf(Lane::kExchange),
                                    StreamOf(Lane::kUnpack), marks_.get(), release_.get()}) {
    if (cudaStreamQuery(stream) == cudaErrorNotReady) return false;
  }
  return true;
}

}  // namespace reshard
