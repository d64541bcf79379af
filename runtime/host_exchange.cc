#include "runtime/host_exchange.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/lane_progress.h"
#include "runtime/rank_list.h"
#include "runtime/ready_work.h"
#include "schedules/lane_names.h"

namespace reshard {
namespace {

constexpr std::array<Lane, kLaneCount> kLanes = {Lane::kPack, Lane::kExchange, Lane::kUnpack};

// One end of a pair that waits for the other.
struct PostedOperation {
  RoundIndex round = 0;
  std::uint64_t version = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

struct OpenOperation {
  RankIndex peer = 0;
  bool sends = false;
  auto operator<=>(const OpenOperation&) const = default;
};

struct RankState {
  bool joined = false;
  bool running = false;
  std::optional<Error> failure;
  std::uint64_t version = 0;
  std::string job_digest;
  LoweredRank lowered;
  std::vector<std::byte*> bases;
  LaneProgress progress;
  std::set<OpenOperation> open;  // operations of the running exchange step
  bool records_steps = false;
  std::array<std::int64_t, kLaneCount> step_start_ns = {};  // of the step that runs
  std::vector<StepTime> steps;                              // of this replay, or else the last
  int executing = 0;  // pieces of work on its memory that run right now
};

std::int64_t NowNanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

class SharedMemoryExchange final : public HostExchange {
 public:
  SharedMemoryExchange(RankIndex rank_count, HostOptions options)
      : ready_(options.interleaving_seed),
        runs_on_waiters_(options.interleaving_seed.has_value()),
        ranks_(static_cast<std::size_t>(rank_count)) {}

  ~SharedMemoryExchange() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    work_added_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  // May throw std::system_error, as starting threads does.
  void StartWorkers(int count) {
    for (int i = 0; i < count; ++i) workers_.emplace_back([this] { RunWorker(); });
  }

  Result<void> Join(RankIndex rank, LoweredRank lowered, std::vector<std::byte*> bases,
                    const std::string& job_digest) override {
    const std::lock_guard lock(mutex_);
    RankState& state = At(rank);
    if (state.joined) return InputError(Place(rank), "has joined already", "open each rank once");
    if (lowered.rank_count != static_cast<RankIndex>(ranks_.size())) {
      return InputError(Place(rank),
                        "its plan has " + std::to_string(lowered.rank_count) +
                            " ranks, the exchange " + std::to_string(ranks_.size()),
                        "load the same plan on every rank");
    }
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      if (ranks_[other].joined && ranks_[other].job_digest != job_digest) {
        return InputError(Place(rank),
                          "its plan is of job " + job_digest + ", that of rank " +
                              std::to_string(other) + " of job " + ranks_[other].job_digest,
                          "load the same plan on every rank");
      }
    }
    state = RankState{};
    state.joined = true;
    state.job_digest = job_digest;
    state.lowered = std::move(lowered);
    state.bases = std::move(bases);
    return {};
  }

  void RecordSteps(RankIndex rank) override {
    const std::lock_guard lock(mutex_);
    At(rank).records_steps = true;
  }

  std::vector<StepTime> StepTimes(RankIndex rank) const override {
    const std::lock_guard lock(mutex_);
    return ranks_[static_cast<std::size_t>(rank)].steps;
  }

  Result<void> Start(RankIndex rank, std::uint64_t version) override {
    const std::lock_guard lock(mutex_);
    RankState& state = At(rank);
    if (!state.joined || state.running || state.failure) {
      return InternalError(Place(rank), "a replay was started that cannot run");
    }
    state.version = version;
    state.progress =
        LaneProgress(state.lowered.waits, static_cast<RoundIndex>(state.lowered.rounds.size()));
    state.running = true;
    state.steps.clear();
    Advance(rank);
    work_added_.notify_all();
    changed_.notify_all();
    return {};
  }

  Result<ReplayProgress> WaitFor(RankIndex rank, std::chrono::nanoseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::unique_lock lock(mutex_);
    const RankState& state = At(rank);
    const auto has_ended = [&] { return !state.running || state.failure.has_value(); };
    if (runs_on_waiters_) {
      while (!has_ended() && std::chrono::steady_clock::now() < deadline) {
        if (!ready_.empty()) {
          // Under the lock: one piece of work at a time is what makes the order reproducible.
          const Work work = ready_.Take();
          Execute(work);
          Finish(work);
        } else {
          changed_.wait_until(lock, deadline);
        }
      }
    } else {
      changed_.wait_until(lock, deadline, has_ended);
    }
    if (state.failure) return tl::unexpected(*state.failure);
    return state.running ? ReplayProgress::kRunning : ReplayProgress::kDone;
  }

  ReplayStatus Status(RankIndex rank) const override {
    const std::lock_guard lock(mutex_);
    const RankState& state = ranks_[static_cast<std::size_t>(rank)];
    ReplayStatus status;
    status.round = state.progress.CurrentStep(Lane::kExchange);
    if (!state.open.empty()) {
      for (const OpenOperation& operation : state.open) {
        if (status.peers.empty() || status.peers.back() != operation.peer) {
          status.peers.push_back(operation.peer);
        }
      }
      status.waiting_for = RankList(status.peers);
      return status;
    }
    for (const Lane lane : kLanes) {
      if (!state.progress.IsRunning(lane)) continue;
      status.round = state.progress.CurrentStep(lane);
      status.waiting_for = std::string("its own ") + LaneName(lane) + " step";
      return status;
    }
    status.waiting_for = "itself: no step may start";
    return status;
  }

  StopResult Stop(RankIndex rank, std::chrono::nanoseconds grace) override {
    std::unique_lock lock(mutex_);
    RankState& state = At(rank);
    Withdraw(rank);
    const bool is_still = changed_.wait_for(lock, grace, [&state] { return state.executing == 0; });
    return is_still ? StopResult::kStopped : StopResult::kAbandoned;
  }

  void Leave(RankIndex rank) override {
    const std::lock_guard lock(mutex_);
    At(rank) = RankState{};
  }

 private:
  RankState& At(RankIndex rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  static std::string Place(RankIndex rank) { return "rank " + std::to_string(rank); }

  void RunWorker() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_added_.wait(lock, [this] { return closing_ || !ready_.empty(); });
      if (closing_) return;
      const Work work = ready_.Take();
      ++At(work.rank).executing;
      if (work.peer != work.rank) ++At(work.peer).executing;
      lock.unlock();
      Execute(work);
      lock.lock();
      --At(work.rank).executing;
      if (work.peer != work.rank) --At(work.peer).executing;
      Finish(work);
    }
  }

  // Reads tables and buffers of ranks that cannot leave while `executing` counts this work.
  void Execute(const Work& work) {
    if (work.lane == Lane::kExchange) {
      std::memcpy(work.destination, work.source, static_cast<std::size_t>(work.bytes));
    } else {
      const RankState& state = ranks_[static_cast<std::size_t>(work.rank)];
      RunCopies(*work.table, state.bases);
      RunConversions(*work.conversions, state.lowered.converted, state.bases);
    }
  }

  // All from here on hold the lock.

  void Finish(const Work& work) {
    if (work.lane == Lane::kExchange) {
      CloseOperation(work.rank, {work.peer, true});
      CloseOperation(work.peer, {work.rank, false});
    } else if (At(work.rank).running) {
      EndStep(work.rank, work.lane);
      Advance(work.rank);
    }
    changed_.notify_all();
  }

  void CloseOperation(RankIndex rank, OpenOperation operation) {
    RankState& state = At(rank);
    if (!state.running || state.open.erase(operation) == 0 || !state.open.empty()) return;
    EndStep(rank, Lane::kExchange);
    Advance(rank);
  }

  void EndStep(RankIndex rank, Lane lane) {
    RankState& state = At(rank);
    if (state.records_steps) {
      state.steps.push_back({rank, lane, state.progress.CurrentStep(lane),
                             state.step_start_ns[static_cast<std::size_t>(lane)],
                             NowNanoseconds()});
    }
    state.progress.End(lane);
  }

  // Starts every step of `rank` that may start. Steps with nothing to do end at once, which may let
  // others start.
  void Advance(RankIndex rank) {
    RankState& state = At(rank);
    for (bool moved = true; moved;) {
      moved = false;
      for (const Lane lane : kLanes) {
        while (state.running && !state.failure && state.progress.CanBegin(lane)) {
          const RoundIndex step = state.progress.Begin(lane);
          moved = true;
          if (state.records_steps) {
            state.step_start_ns[static_cast<std::size_t>(lane)] = NowNanoseconds();
          }
          if (!BeginStep(rank, lane, step)) state.progress.End(lane);
        }
      }
    }
    if (state.running && state.progress.IsDone()) state.running = false;
  }

  // False if the step has nothing to do.
  bool BeginStep(RankIndex rank, Lane lane, RoundIndex step) {
    const LoweredRound& round = At(rank).lowered.rounds[static_cast<std::size_t>(step)];
    if (lane == Lane::kExchange) return Post(rank, step, round);
    const CopyTable& table = lane == Lane::kPack ? round.pack : round.unpack;
    const CopyTable& conversions =
        lane == Lane::kPack ? round.converted_pack : round.converted_unpack;
    if (table.empty() && conversions.empty()) return false;
    AddWork({lane, rank, rank, &table, &conversions, nullptr, nullptr, 0});
    return true;
  }

  bool Post(RankIndex rank, RoundIndex step, const LoweredRound& round) {
    RankState& state = At(rank);
    if (round.sends.empty() && round.receives.empty()) return false;
    // All are open before any is matched: the step must not end half posted.
    for (const ExchangeOperation& send : round.sends) state.open.insert({send.peer, true});
    for (const ExchangeOperation& receive : round.receives) {
      state.open.insert({receive.peer, false});
    }
    std::byte* const staging = state.bases[kStagingBase];
    for (const ExchangeOperation& send : round.sends) {
      const PostedOperation posted = {step, state.version, staging + send.offset, send.bytes};
      PostOrMatch({rank, send.peer}, posted, sends_, receives_);
    }
    for (const ExchangeOperation& receive : round.receives) {
      const PostedOperation posted = {step, state.version, staging + receive.offset, receive.bytes};
      PostOrMatch({receive.peer, rank}, posted, receives_, sends_);
    }
    return true;
  }

  using RankPair = std::pair<RankIndex, RankIndex>;  // sender, receiver
  using PostedOperations = std::map<RankPair, PostedOperation>;

  void PostOrMatch(RankPair pair, const PostedOperation& posted, PostedOperations& own,
                   PostedOperations& others) {
    const auto other = others.find(pair);
    if (other == others.end()) {
      own.emplace(pair, posted);
      return;
    }
    const PostedOperation matched = other->second;
    others.erase(other);
    const bool own_sends = &own == &sends_;
    Match(pair, own_sends ? posted : matched, own_sends ? matched : posted);
  }

  void Match(RankPair pair, const PostedOperation& send, const PostedOperation& receive) {
    const auto [from, to] = pair;
    if (std::tie(send.round, send.version, send.bytes) ==
        std::tie(receive.round, receive.version, receive.bytes)) {
      AddWork({Lane::kExchange, from, to, nullptr, nullptr, send.data, receive.data, send.bytes});
      return;
    }
    const auto describe = [](const PostedOperation& operation) {
      return std::to_string(operation.bytes) + " bytes in round " +
             std::to_string(operation.round) + " of version " + std::to_string(operation.version);
    };
    const std::string reason = "rank " + std::to_string(from) + " sends " + describe(send) +
                               ", rank " + std::to_string(to) + " receives " + describe(receive);
    for (const RankIndex rank : {from, to}) {
      if (At(rank).failure) continue;
      At(rank).failure = Error{Fault::kRun, Place(rank), reason,
                               "load the same plan file and replay the same version on every rank"};
    }
  }

  void AddWork(const Work& work) {
    ready_.Add(work);
    work_added_.notify_one();
  }

  // Nothing new touches the rank's memory after this.
  void Withdraw(RankIndex rank) {
    At(rank).running = false;
    At(rank).open.clear();
    ready_.Drop(rank);
    // Its own posted operations; those of peers that wait for it stay, and go on waiting.
    std::erase_if(sends_, [rank](const auto& posted) { return posted.first.first == rank; });
    std::erase_if(receives_, [rank](const auto& posted) { return posted.first.second == rank; });
  }

  mutable std::mutex mutex_;
  std::condition_variable work_added_;
  std::condition_variable changed_;  // a rank has ended, failed, or nothing executes on it
  bool closing_ = false;
  ReadyWork ready_;
  bool runs_on_waiters_ = false;
  std::vector<RankState> ranks_;
  PostedOperations sends_;     // without their receive
  PostedOperations receives_;  // without their send
  std::vector<std::thread> workers_;
};

}  // namespace

Result<std::shared_ptr<HostExchange>> HostExchange::Make(RankIndex rank_count,
                                                         HostOptions options) {
  int workers = 0;
  if (!options.interleaving_seed) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    workers = options.workers > 0 ? options.workers : std::max(cores, 1);
  }
  const auto exchange = std::make_shared<SharedMemoryExchange>(rank_count, options);
  try {
    exchange->StartWorkers(workers);
  } catch (const std::system_error& error) {
    return RunError("host backend", std::string("no thread could be started: ") + error.what(),
                    "raise the limit on threads");
  }
  return exchange;
}

}  // namespace reshard
