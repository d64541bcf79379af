#include "simulator/replay.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

namespace reshard {
namespace {

constexpr RoundIndex kNoMoreSteps = std::numeric_limits<RoundIndex>::max();

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr const char* kLaneNames[kLaneCount] = {"pack", "exchange", "unpack"};

enum class Moment : std::int32_t { kPackLaunched, kExchangeReady, kExchangeEnd, kUnpackLaunched };
constexpr std::int32_t kMomentCount = 4;

struct LaneState {
  RoundIndex round = 0;      // of its running or next step; kNoMoreSteps after the last
  std::int32_t segment = 0;  // that holds `round`
  bool running = false;
  Nanoseconds start = 0;  // of the running step
};

class Replay {
 public:
  Replay(const ReplayModel& model, ReplayObserver* observer);
  Result<ReplayTimes> Run();

 private:
  // Of one rank's exchange lane.
  struct Exchange {
    bool ready = false;
    std::int32_t pending = 0;          // operations of the running step that have not ended
    Nanoseconds latest_end = 0;        // of those that have
    std::int32_t listed_segment = -1;  // whose operations are listed as active
    std::int32_t active_count = 0;
    std::int32_t batches = 0;  // beyond the first
  };
  struct ActiveOperation {
    TransferIndex transfer = 0;
    std::int64_t bytes = 0;
  };
  using Timer = std::pair<Nanoseconds, std::int32_t>;  // (time, rank * kMomentCount + moment)

  LaneState& StateOf(RankIndex rank, int lane) { return lanes_[At(rank * kLaneCount + lane)]; }
  LaneState& ExchangeOf(RankIndex rank) { return StateOf(rank, static_cast<int>(Lane::kExchange)); }
  void After(Nanoseconds delay, RankIndex rank, Moment moment) {
    timers_.emplace(now_ + delay, rank * kMomentCount + static_cast<std::int32_t>(moment));
  }

  void FindStep(RankIndex rank, int lane, RoundIndex from);
  bool WaitsMet(RankIndex rank, int lane);
  void StartSteps(RankIndex rank);
  void EndStep(RankIndex rank, int lane);
  void ListActive(RankIndex rank);
  void OnReady(RankIndex rank);
  void OnTimer(std::int32_t key);
  void OnFlowEnd(FlowIndex flow);
  void StartCopy(RankIndex rank, Lane lane);
  Result<void> CheckFinished();

  const ReplayModel& model_;
  ReplayObserver* observer_;
  FlowEngine engine_;
  Nanoseconds now_ = 0;
  std::vector<LaneState> lanes_;
  std::vector<Exchange> exchanges_;
  std::vector<ActiveOperation> active_;  // each rank's at its ModelRank::first_operation
  std::vector<Nanoseconds> flow_start_;  // per transfer, of its running flow
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  ReplayTimes times_;
};

Replay::Replay(const ReplayModel& model, ReplayObserver* observer)
    : model_(model),
      observer_(observer),
      engine_(model.flows, model.capacities),
      lanes_(model.ranks.size() * kLaneCount),
      exchanges_(model.ranks.size()),
      active_(model.operations.size()),
      flow_start_(model.transfers.size()) {
  times_.lane_ends.resize(lanes_.size());
  times_.round_ends.resize(At(model.round_count));
}

// Moves a lane to its first step of round `from` or later.
void Replay::FindStep(RankIndex rank, int lane, RoundIndex from) {
  LaneState& state = StateOf(rank, lane);
  const std::span<const Segment> segments = model_.Of(model_.ranks[At(rank)].lanes[lane]);
  auto index = At(state.segment);
  while (index + 1 < segments.size() &&
         (segments[index + 1].first_round <= from || segments[index].bytes == 0)) {
    ++index;
  }
  state.segment = static_cast<std::int32_t>(index);
  const bool found = index < segments.size() && segments[index].bytes > 0;
  state.round = found ? std::max(from, segments[index].first_round) : kNoMoreSteps;
}

bool Replay::WaitsMet(RankIndex rank, int lane) {
  const RoundIndex round = StateOf(rank, lane).round;
  for (const Wait& wait : model_.Waits(model_.ranks[At(rank)])) {
    if (static_cast<int>(wait.lane) != lane || round < wait.lag) continue;
    if (StateOf(rank, static_cast<int>(wait.on)).round <= round - wait.lag) return false;
  }
  return true;
}

void Replay::StartSteps(RankIndex rank) {
  for (int lane = 0; lane < kLaneCount; ++lane) {
    LaneState& state = StateOf(rank, lane);
    if (state.running || state.round == kNoMoreSteps || !WaitsMet(rank, lane)) continue;
    state.running = true;
    state.start = now_;
    if (lane == static_cast<int>(Lane::kExchange)) {
      ListActive(rank);
      const Nanoseconds batches = exchanges_[At(rank)].batches * model_.batch;
      After(model_.launch + model_.group + batches, rank, Moment::kExchangeReady);
    } else {
      After(
          model_.launch, rank,
          lane == static_cast<int>(Lane::kPack) ? Moment::kPackLaunched : Moment::kUnpackLaunched);
    }
  }
}

void Replay::EndStep(RankIndex rank, int lane) {
  LaneState& state = StateOf(rank, lane);
  state.running = false;
  times_.lane_ends[At(rank * kLaneCount + lane)] = now_;
  times_.end = std::max(times_.end, now_);
  if (observer_ != nullptr) {
    observer_->OnStep(rank, static_cast<Lane>(lane), state.round, state.start, now_);
  }
  FindStep(rank, lane, state.round + 1);
  StartSteps(rank);
}

// Lists the operations of the rank's next exchange step, unless they are those of its last one.
void Replay::ListActive(RankIndex rank) {
  const LaneState& lane = ExchangeOf(rank);
  Exchange& exchange = exchanges_[At(rank)];
  if (exchange.listed_segment == lane.segment) return;
  exchange.listed_segment = lane.segment;
  exchange.active_count = 0;
  std::int64_t sends = 0;
  const ModelRank& record = model_.ranks[At(rank)];
  for (const TransferIndex t : model_.Operations(record)) {
    const ModelTransfer& transfer = model_.transfers[At(t)];
    const std::span<const Segment> segments = model_.Of(transfer.bytes);
    const auto next = std::upper_bound(
        segments.begin(), segments.end(), lane.round,
        [](RoundIndex round, const Segment& segment) { return round < segment.first_round; });
    if (next == segments.begin() || std::prev(next)->bytes == 0) continue;
    active_[static_cast<std::size_t>(record.first_operation + exchange.active_count)] = {
        t, std::prev(next)->bytes};
    ++exchange.active_count;
    sends += transfer.from == rank ? 1 : 0;
  }
  const std::int64_t most = std::max(sends, exchange.active_count - sends);
  exchange.batches = static_cast<std::int32_t>((most - 1) / model_.operations_together);
}

void Replay::OnReady(RankIndex rank) {
  Exchange& exchange = exchanges_[At(rank)];
  exchange.ready = true;
  exchange.pending = exchange.active_count;
  exchange.latest_end = now_;
  const RoundIndex round = ExchangeOf(rank).round;
  const std::int64_t first = model_.ranks[At(rank)].first_operation;
  for (std::int64_t i = first; i < first + exchange.active_count; ++i) {
    const ActiveOperation& operation = active_[static_cast<std::size_t>(i)];
    const ModelTransfer& transfer = model_.transfers[At(operation.transfer)];
    const RankIndex peer = transfer.from == rank ? transfer.to : transfer.from;
    if (!exchanges_[At(peer)].ready || ExchangeOf(peer).round != round) continue;
    flow_start_[At(operation.transfer)] = now_;
    engine_.Start(operation.transfer, static_cast<double>(operation.bytes), now_);
  }
}

void Replay::StartCopy(RankIndex rank, Lane lane) {
  const LaneState& state = StateOf(rank, static_cast<int>(lane));
  const SegmentRange& range = model_.ranks[At(rank)].lanes[static_cast<int>(lane)];
  const std::int64_t bytes = model_.Of(range)[At(state.segment)].bytes;
  engine_.Start(model_.CopyFlow(rank, lane), static_cast<double>(bytes), now_);
}

void Replay::OnTimer(std::int32_t key) {
  const RankIndex rank = key / kMomentCount;
  switch (static_cast<Moment>(key % kMomentCount)) {
    case Moment::kPackLaunched:
      return StartCopy(rank, Lane::kPack);
    case Moment::kUnpackLaunched:
      return StartCopy(rank, Lane::kUnpack);
    case Moment::kExchangeReady:
      return OnReady(rank);
    case Moment::kExchangeEnd: {
      exchanges_[At(rank)].ready = false;
      Nanoseconds& round_end = times_.round_ends[At(ExchangeOf(rank).round)];
      round_end = std::max(round_end, now_);
      return EndStep(rank, static_cast<int>(Lane::kExchange));
    }
  }
}

void Replay::OnFlowEnd(FlowIndex flow) {
  const auto transfer_count = static_cast<FlowIndex>(model_.transfers.size());
  if (flow >= transfer_count) {
    const FlowIndex copy = flow - transfer_count;
    return EndStep(copy / 2, static_cast<int>(copy % 2 == 0 ? Lane::kPack : Lane::kUnpack));
  }
  const ModelTransfer& transfer = model_.transfers[At(flow)];
  const Nanoseconds end = now_ + transfer.latency;
  for (const RankIndex rank : {transfer.from, transfer.to}) {
    Exchange& exchange = exchanges_[At(rank)];
    exchange.latest_end = std::max(exchange.latest_end, end);
    if (--exchange.pending == 0) {
      After(exchange.latest_end - now_, rank, Moment::kExchangeEnd);
    }
  }
  if (observer_ != nullptr) {
    const RoundIndex round = ExchangeOf(transfer.from).round;
    const std::span<const Segment> segments = model_.Of(transfer.bytes);
    const auto next = std::upper_bound(
        segments.begin(), segments.end(), round,
        [](RoundIndex at, const Segment& segment) { return at < segment.first_round; });
    observer_->OnTransfer(flow, round, std::prev(next)->bytes, flow_start_[At(flow)], now_);
  }
}

Result<void> Replay::CheckFinished() {
  for (RankIndex rank = 0; At(rank) < model_.ranks.size(); ++rank) {
    for (int lane = 0; lane < kLaneCount; ++lane) {
      const LaneState& state = StateOf(rank, lane);
      if (state.round == kNoMoreSteps) continue;
      const std::string step =
          std::string("the ") + kLaneNames[lane] + " step of round " + std::to_string(state.round);
      const std::string place = "plan: rank " + std::to_string(rank);
      return state.running
                 ? InputError(place, step +
                                         " never ends: a peer never starts it, or a rate is so "
                                         "low that it lasts over 36 years")
                 : InputError(place, step + " never starts: what it waits for never ends");
    }
  }
  return {};
}

Result<ReplayTimes> Replay::Run() {
  for (RankIndex rank = 0; At(rank) < model_.ranks.size(); ++rank) {
    for (int lane = 0; lane < kLaneCount; ++lane) FindStep(rank, lane, 0);
    StartSteps(rank);
  }
  std::vector<FlowIndex> ended;
  while (true) {
    const Nanoseconds next_end = engine_.NextEnd();
    const Nanoseconds next_timer = timers_.empty() ? kNever : timers_.top().first;
    now_ = std::min(next_end, next_timer);
    if (now_ > kEndOfTime) break;
    ended.clear();
    engine_.Complete(now_, ended);
    for (const FlowIndex flow : ended) OnFlowEnd(flow);
    while (!timers_.empty() && timers_.top().first == now_) {
      const std::int32_t key = timers_.top().second;
      timers_.pop();
      OnTimer(key);
    }
    engine_.UpdateRates(now_);
  }
  if (Result<void> finished = CheckFinished(); !finished) {
    return tl::unexpected(finished.error());
  }
  return std::move(times_);
}

}  // namespace

Result<ReplayTimes> RunReplay(const ReplayModel& model, ReplayObserver* observer) {
  return Replay(model, observer).Run();
}

}  // namespace reshard
