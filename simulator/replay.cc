#include "simulator/replay.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "schedules/lane_names.h"
#include "simulator/plateau.h"
#include "simulator/recurrence.h"

namespace reshard {
namespace {

constexpr RoundIndex kNoMoreSteps = std::numeric_limits<RoundIndex>::max();

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

enum class Moment : std::int32_t { kPackLaunched, kExchangeReady, kExchangeEnd, kUnpackLaunched };
constexpr std::int32_t kMomentCount = 4;

// Waits that reach further back need too long a history to tell what follows.
constexpr std::int32_t kLongestLag = 64;

struct LaneState {
  RoundIndex round = 0;      // of its running or next step; kNoMoreSteps after the last
  std::int32_t segment = 0;  // that holds `round`
  bool running = false;
  Nanoseconds start = 0;  // of the running step
};

class Replay {
 public:
  Replay(const ReplayModel& model, ReplayWay way, ReplayObserver* observer);
  Result<ReplayOutcome> Run();

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
  // A part of a plateau, in search of its recurrence.
  struct Search {
    RoundIndex newest_round = -1;  // latest round in which any of its ranks became ready
    bool over = false;
    RecurrenceFinder finder;
    std::vector<std::pair<RoundIndex, Nanoseconds>> ends;  // of its exchange steps
  };

  LaneState& StateOf(RankIndex rank, int lane) { return lanes_[At(rank * kLaneCount + lane)]; }
  LaneState& ExchangeOf(RankIndex rank) { return StateOf(rank, static_cast<int>(Lane::kExchange)); }
  void After(Nanoseconds delay, RankIndex rank, Moment moment) {
    const std::int32_t key = rank * kMomentCount + static_cast<std::int32_t>(moment);
    timers_.emplace_back(now_ + delay, key);
    timer_of_[At(key)] = now_ + delay;
    std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
  }

  // What is left of the host node that the rank's groups wait for.
  Nanoseconds HostNodeLeft(RankIndex rank) const {
    return model_.ranks[At(rank)].has_network ? std::max<Nanoseconds>(0, model_.host_node - now_)
                                              : 0;
  }
  // Starts the operation's flow.
  void StartMessage(const ActiveOperation& operation);

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

  std::optional<std::size_t> PlateauOf(RankIndex rank);
  void NoteReady(RankIndex rank);
  void NoteEnd(RankIndex rank);
  void LookForRecurrence(std::size_t plateau, std::size_t part);
  void Skip(std::size_t plateau, std::size_t part, const Recurrence& recurrence,
            std::int64_t times);

  const ReplayModel& model_;
  const bool skips_;
  ReplayObserver* observer_;
  FlowEngine engine_;
  Nanoseconds now_ = 0;
  std::vector<LaneState> lanes_;
  std::vector<Exchange> exchanges_;
  std::vector<ActiveOperation> active_;  // each rank's at its ModelRank::first_operation
  // Per transfer, of its running flow; where no channel is short for the message, the least end is
  // 0.
  std::vector<Nanoseconds> flow_start_, flow_latency_, least_end_;
  std::vector<Timer> timers_;  // a heap, earliest first
  ReplayOutcome outcome_;

  std::vector<Nanoseconds> timer_of_;  // by key; kNever if it is not set

  std::vector<Plateau> plateaus_;
  std::vector<std::vector<Search>> searches_;  // by plateau and part
  std::vector<std::size_t> plateau_of_;        // per rank: that of its exchange step, or the next
  std::vector<std::pair<std::size_t, std::size_t>> due_;  // (plateau, part) with a new round
  std::int32_t lag_max_ = 0;                              // over all waits
  StepHistory history_{0, 1};
  std::vector<RecurrenceFinder::LaneProgress> progress_;  // in use by LookForRecurrence
};

Replay::Replay(const ReplayModel& model, ReplayWay way, ReplayObserver* observer)
    : model_(model),
      skips_(way == ReplayWay::kShort && observer == nullptr),
      observer_(observer),
      engine_(model.flows, model.capacities, observer, model.tolerance, model.round_time),
      lanes_(model.ranks.size() * kLaneCount),
      exchanges_(model.ranks.size()),
      active_(model.operations.size()),
      flow_start_(model.transfers.size()),
      flow_latency_(model.transfers.size()),
      least_end_(model.transfers.size()),
      timer_of_(model.ranks.size() * kMomentCount, kNever),
      plateau_of_(model.ranks.size()) {
  outcome_.times.lane_ends.resize(lanes_.size());
  outcome_.times.round_ends.resize(At(model.round_count));
  if (!skips_) return;
  for (const Wait& wait : model_.waits) lag_max_ = std::max(lag_max_, wait.lag);
  if (lag_max_ > kLongestLag) return;
  plateaus_ = FindPlateaus(model_, lag_max_ + 3);
  if (plateaus_.empty()) return;
  const double tolerance = std::max(kPeriodTolerance, model_.tolerance);
  for (const Plateau& plateau : plateaus_) {
    Search search{.finder = RecurrenceFinder(plateau.begin, lag_max_, tolerance), .ends = {}};
    searches_.emplace_back(plateau.parts.size(), search);
  }
  history_ = StepHistory(lanes_.size(), RecurrenceFinder::HistoryRounds(lag_max_));
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
      After(HostNodeLeft(rank) + model_.launch + model_.group + batches, rank,
            Moment::kExchangeReady);
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
  outcome_.times.lane_ends[At(rank * kLaneCount + lane)] = now_;
  outcome_.times.end = std::max(outcome_.times.end, now_);
  if (observer_ != nullptr) {
    observer_->OnStep(rank, static_cast<Lane>(lane), state.round, state.start, now_);
  }
  if (!plateaus_.empty()) history_.Add(At(rank * kLaneCount + lane), state.round, now_);
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
  if (skips_) NoteReady(rank);
  const std::int64_t first = model_.ranks[At(rank)].first_operation;
  for (std::int64_t i = first; i < first + exchange.active_count; ++i) {
    const ActiveOperation& operation = active_[static_cast<std::size_t>(i)];
    const ModelTransfer& transfer = model_.transfers[At(operation.transfer)];
    const RankIndex peer = transfer.from == rank ? transfer.to : transfer.from;
    if (!exchanges_[At(peer)].ready || ExchangeOf(peer).round != round) continue;
    StartMessage(operation);
  }
}

void Replay::StartMessage(const ActiveOperation& operation) {
  const std::size_t t = At(operation.transfer);
  const ModelTransfer& transfer = model_.transfers[t];
  const MessageRules& rules = model_.messages;
  flow_start_[t] = now_;
  std::int64_t wire_bytes = operation.bytes;
  Nanoseconds latency = transfer.latency;
  Nanoseconds least = 0;
  if (operation.bytes < rules.long_bytes() || rules.IsShort(operation.bytes)) {
    if (rules.IsShort(operation.bytes)) latency = transfer.ll_latency;
    wire_bytes = rules.WireBytes(operation.bytes);
    const double gbps =
        static_cast<double>(rules.Channels(operation.bytes)) * transfer.channel_gbps;
    // Bounded, as the rate may be tiny; the engine refuses what never ends.
    const double ns = std::min(static_cast<double>(wire_bytes) / gbps, 1e18);
    least = now_ + static_cast<Nanoseconds>(std::ceil(ns)) + latency;
  }
  flow_latency_[t] = latency;
  least_end_[t] = least;
  engine_.Start(operation.transfer, static_cast<double>(wire_bytes), now_);
}

void Replay::StartCopy(RankIndex rank, Lane lane) {
  const LaneState& state = StateOf(rank, static_cast<int>(lane));
  const SegmentRange& range = model_.ranks[At(rank)].lanes[static_cast<int>(lane)];
  const std::int64_t bytes = model_.Of(range)[At(state.segment)].bytes;
  engine_.Start(model_.CopyFlow(rank, lane), static_cast<double>(bytes), now_);
}

void Replay::OnTimer(std::int32_t key) {
  const RankIndex rank = key / kMomentCount;
  timer_of_[At(key)] = kNever;
  switch (static_cast<Moment>(key % kMomentCount)) {
    case Moment::kPackLaunched:
      return StartCopy(rank, Lane::kPack);
    case Moment::kUnpackLaunched:
      return StartCopy(rank, Lane::kUnpack);
    case Moment::kExchangeReady:
      return OnReady(rank);
    case Moment::kExchangeEnd: {
      exchanges_[At(rank)].ready = false;
      const RoundIndex round = ExchangeOf(rank).round;
      Nanoseconds& round_end = outcome_.times.round_ends[At(round)];
      round_end = std::max(round_end, now_);
      if (skips_) NoteEnd(rank);
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
  const Nanoseconds end = std::max(now_ + flow_latency_[At(flow)], least_end_[At(flow)]);
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

// The plateau that holds the round of the rank's exchange step.
std::optional<std::size_t> Replay::PlateauOf(RankIndex rank) {
  const RoundIndex round = ExchangeOf(rank).round;
  std::size_t& plateau = plateau_of_[At(rank)];
  while (plateau < plateaus_.size() && plateaus_[plateau].end <= round) ++plateau;
  if (plateau == plateaus_.size() || round < plateaus_[plateau].begin) return std::nullopt;
  return plateau;
}

void Replay::NoteReady(RankIndex rank) {
  const std::optional<std::size_t> plateau = PlateauOf(rank);
  if (!plateau) return;
  const std::size_t part = At(plateaus_[*plateau].part_of_rank[At(rank)]);
  Search& search = searches_[*plateau][part];
  const RoundIndex round = ExchangeOf(rank).round;
  if (search.over || round <= search.newest_round) return;
  search.newest_round = round;
  due_.emplace_back(*plateau, part);
}

void Replay::NoteEnd(RankIndex rank) {
  const std::optional<std::size_t> plateau = PlateauOf(rank);
  if (!plateau) return;
  Search& search = searches_[*plateau][At(plateaus_[*plateau].part_of_rank[At(rank)])];
  if (!search.over) search.ends.emplace_back(ExchangeOf(rank).round, now_);
}

// Called when a rank of the part is the first of it to be ready in a round. What follows from a
// state does not depend on the round as long as no lane comes to the plateau's end, and no lane
// whose next step lies beyond it can find that step's waits met.
void Replay::LookForRecurrence(std::size_t plateau_index, std::size_t part_index) {
  const Plateau& plateau = plateaus_[plateau_index];
  const PlateauPart& part = plateau.parts[part_index];
  Search& search = searches_[plateau_index][part_index];
  RoundIndex last = plateau.end - 1;
  RoundIndex latest = 0;
  progress_.clear();
  for (const RankIndex rank : part.ranks) {
    for (int lane = 0; lane < kLaneCount; ++lane) {
      const LaneState& at = StateOf(rank, lane);
      if (at.round >= plateau.end) {
        if (at.running) return;
        if (at.round != kNoMoreSteps) last = std::min(last, at.round - lag_max_ - 1);
        continue;
      }
      // A step of a round below its wait's lag does not wait: not yet what follows.
      if (at.round < std::max(plateau.begin, lag_max_)) return;
      latest = std::max(latest, at.round);
      progress_.push_back({At(rank * kLaneCount + lane), at.round - 1});
    }
  }
  std::optional<Recurrence> found;
  if (latest < last) {
    found = search.finder.Find(history_, progress_, search.newest_round, now_);
    if (!found) return;
    const std::int64_t times = (last - latest) / found->rounds;
    if (times > 0 && found->time < (kEndOfTime - now_) / times) {
      Skip(plateau_index, part_index, *found, times);
    }
  }
  search.over = true;
  search.finder.Clear();
  search.ends.clear();
}

// Lets the last `recurrence` of the part pass `times` times more.
void Replay::Skip(std::size_t plateau_index, std::size_t part_index, const Recurrence& recurrence,
                  std::int64_t times) {
  const Plateau& plateau = plateaus_[plateau_index];
  const PlateauPart& part = plateau.parts[part_index];
  for (const auto& [round, end] : searches_[plateau_index][part_index].ends) {
    if (end <= now_ - recurrence.time) continue;
    for (std::int64_t i = 1; i <= times; ++i) {
      Nanoseconds& round_end =
          outcome_.times.round_ends[static_cast<std::size_t>(round + i * recurrence.rounds)];
      round_end = std::max(round_end, end + i * recurrence.time);
    }
  }
  const Nanoseconds time = times * recurrence.time;
  const auto rounds = static_cast<RoundIndex>(times * recurrence.rounds);
  for (const RankIndex rank : part.ranks) {
    for (int lane = 0; lane < kLaneCount; ++lane) {
      LaneState& at = StateOf(rank, lane);
      if (at.round < plateau.end) at.round += rounds;
      at.start += time;
    }
    exchanges_[At(rank)].latest_end += time;
    for (std::int32_t moment = 0; moment < kMomentCount; ++moment) {
      Nanoseconds& timer = timer_of_[At(rank * kMomentCount + moment)];
      if (timer != kNever) timer += time;
    }
  }
  for (auto& [at, key] : timers_) at = timer_of_[At(key)];
  std::make_heap(timers_.begin(), timers_.end(), std::greater<>());
  engine_.Shift(part.flows, time);
  for (const FlowIndex flow : part.flows) {
    if (At(flow) < least_end_.size() && least_end_[At(flow)] > 0) least_end_[At(flow)] += time;
  }
  outcome_.skipped_steps += static_cast<std::int64_t>(part.ranks.size()) * rounds;
}

Result<ReplayOutcome> Replay::Run() {
  for (RankIndex rank = 0; At(rank) < model_.ranks.size(); ++rank) {
    for (int lane = 0; lane < kLaneCount; ++lane) FindStep(rank, lane, 0);
    StartSteps(rank);
  }
  std::vector<FlowIndex> ended;
  while (true) {
    const Nanoseconds next_end = engine_.NextEnd();
    const Nanoseconds next_timer = timers_.empty() ? kNever : timers_.front().first;
    now_ = std::min(next_end, next_timer);
    if (now_ > kEndOfTime) break;
    ended.clear();
    engine_.Complete(now_, ended);
    for (const FlowIndex flow : ended) OnFlowEnd(flow);
    while (!timers_.empty() && timers_.front().first == now_) {
      const std::int32_t key = timers_.front().second;
      std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
      timers_.pop_back();
      OnTimer(key);
    }
    engine_.UpdateRates(now_);
    for (const auto& [plateau, part] : due_) LookForRecurrence(plateau, part);
    due_.clear();
  }
  if (Result<void> finished = CheckFinished(); !finished) {
    return tl::unexpected(finished.error());
  }
  return std::move(outcome_);
}

}  // namespace

Result<ReplayOutcome> RunReplay(const ReplayModel& model, ReplayWay way, ReplayObserver* observer) {
  return Replay(model, way, observer).Run();
}

}  // namespace reshard
