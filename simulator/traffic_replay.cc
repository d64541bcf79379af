#include "simulator/traffic_replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "simulator/flow_table.h"
#include "simulator/instant_tree.h"
#include "simulator/peer_channels.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// Two ranks in a stream, and the flow between them in whatever phase of the same kind.
struct Link {
  RankIndex from = 0;
  RankIndex to = 0;              // == from: the rank's copies
  bool is_send_receive = false;  // TrafficPhase; not of copies
  FlowIndex flow = 0;
  Nanoseconds latency = 0;
  double alone_gbps = 0;  // what the path gives one flow
  auto key() const { return std::tuple(from, to, is_send_receive); }
};

// The links of one stream, ascending by their keys.
using Links = std::vector<Link>;

const Link& Find(const Links& links, RankIndex from, RankIndex to, bool is_send_receive) {
  return *std::lower_bound(links.begin(), links.end(), std::tuple(from, to, is_send_receive),
                           [](const Link& link, const auto& key) { return link.key() < key; });
}
const Link& FindCopies(const Links& links, RankIndex rank) {
  return Find(links, rank, rank, false);
}

// A flow of the phase that runs.
struct Start {
  FlowIndex flow = 0;
  double bytes = 0;
};

// Of one stream: what it does now.
enum class Part : std::uint8_t { kCosts, kPack, kExchange, kLatency, kUnpack, kDone };

struct StreamState {
  std::size_t phase = 0;
  Part part = Part::kCosts;
  std::vector<std::vector<Start>> hops;  // of the exchange, by hop
  std::vector<Nanoseconds> hop_delays;   // from the exchange's begin
  std::size_t next_hop = 0;
  std::int64_t running = 0;  // flows
  Nanoseconds part_begin = 0;
  Nanoseconds latency = 0;  // of the exchange's longest path
};

class TrafficReplay {
 public:
  TrafficReplay(const Plan& plan, const Machine& machine, const Constants& constants)
      : plan_(plan),
        traffic_(*plan.traffic),
        machine_(machine),
        constants_(constants),
        operations_together_(OperationsTogether(machine.channels_per_peer(), constants)),
        states_(traffic_.streams.size()),
        timers_(traffic_.streams.size()) {
    times_.lane_ends.resize(plan.job.ranks.size() * kLaneCount);
    times_.resource_bytes.resize(machine.capacities().size());
  }

  Result<TrafficTimes> Run() {
    for (const TrafficStream& stream : traffic_.streams) {
      Result<Links> links = ListLinks(stream);
      if (!links) return tl::unexpected(links.error());
      links_.push_back(*std::move(links));
    }
    if (Result<void> sums = SumBytes(); !sums) return tl::unexpected(sums.error());
    stream_of_flow_.resize(table_.size());
    for (std::size_t s = 0; s < links_.size(); ++s) {
      for (const Link& link : links_[s]) stream_of_flow_[At(link.flow)] = s;
    }
    FlowEngine engine(table_, {machine_.capacities().begin(), machine_.capacities().end()});
    engine_ = &engine;
    BeginTurns(0);
    engine.UpdateRates(0);
    if (Result<void> ran = RunEvents(); !ran) return tl::unexpected(ran.error());
    return std::move(times_);
  }

 private:
  Result<void> RunEvents() {
    std::vector<FlowIndex> ended;
    for (;;) {
      const Nanoseconds now = std::min(engine_->NextEnd(), timers_.Earliest());
      if (now == kNever) break;
      if (now >= kEndOfTime) return InputError("plan: traffic", "takes longer than 36 years");
      ended.clear();
      engine_->Complete(now, ended);
      for (const FlowIndex flow : ended) {
        const std::size_t stream = stream_of_flow_[At(flow)];
        if (--states_[stream].running == 0) PartRanOut(stream, now);
      }
      while (timers_.Earliest() == now) {
        const auto stream = static_cast<std::size_t>(timers_.First());
        timers_.Set(static_cast<std::int32_t>(stream), kNever);
        TimerRang(stream, now);
      }
      BeginTurns(now);
      engine_->UpdateRates(now);
    }
    for (const StreamState& state : states_) {
      if (state.part != Part::kDone) return InputError("plan: traffic", "never ends");
    }
    return {};
  }

  Result<Links> ListLinks(const TrafficStream& stream) {
    std::vector<std::tuple<RankIndex, RankIndex, bool>> keys;
    for (const TrafficPhase& phase : stream.phases) {
      for (const TrafficFlow& flow : phase.flows) {
        keys.emplace_back(flow.from, flow.to, phase.is_send_receive);
      }
      for (const TrafficCopy& copy : phase.copies) {
        if (copy.packed_bytes + copy.unpacked_bytes > 0) {
          keys.emplace_back(copy.rank, copy.rank, false);
        }
      }
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    Links links;
    for (const auto& [from, to, is_send_receive] : keys) {
      const GpuIndex gpu = plan_.job.ranks[At(from)].gpu;
      const Result<FlowPath> path =
          from == to ? machine_.CopyPath(gpu)
                     : machine_.PathBetween(
                           gpu, plan_.job.ranks[At(to)].gpu,
                           is_send_receive ? Carrier::kPeerChannels : Carrier::kAllChannels);
      if (!path) return tl::unexpected(path.error());
      double alone = path->cap_gbps;
      for (const ResourceShare& use : path->shares) {
        alone = std::min(alone, machine_.capacities()[At(use.resource)] / use.share);
      }
      links.push_back({from, to, is_send_receive, table_.Add(path->shares, path->cap_gbps),
                       path->latency, alone});
    }
    return links;
  }

  // What passes each resource over all phases; fails where an amount leaves 64 bits.
  Result<void> SumBytes() {
    const auto add = [&](const Link& link, std::int64_t repeats, std::int64_t bytes) -> bool {
      const std::optional<std::int64_t> total = CheckedMultiply(repeats, bytes);
      if (!total) return false;
      for (const ResourceShare& use : table_.Shares(link.flow)) {
        times_.resource_bytes[At(use.resource)] += use.share * static_cast<double>(*total);
      }
      return true;
    };
    for (std::size_t s = 0; s < links_.size(); ++s) {
      for (const TrafficPhase& phase : traffic_.streams[s].phases) {
        bool fits = true;
        for (const TrafficFlow& flow : phase.flows) {
          fits = fits && add(Find(links_[s], flow.from, flow.to, phase.is_send_receive),
                             phase.repeats, flow.bytes);
        }
        for (const TrafficCopy& copy : phase.copies) {
          const std::int64_t bytes = copy.packed_bytes + copy.unpacked_bytes;
          if (bytes == 0) continue;
          fits = fits && add(FindCopies(links_[s], copy.rank), phase.repeats, bytes);
        }
        if (!fits) return InputError("plan: traffic", "an amount exceeds 2^63 bytes");
      }
    }
    return {};
  }

  const TrafficPhase& PhaseOf(std::size_t stream) const {
    return traffic_.streams[stream].phases[states_[stream].phase];
  }

  void SetTimer(std::size_t stream, Nanoseconds instant) {
    timers_.Set(static_cast<std::int32_t>(stream), instant);
  }

  void StartFlow(std::size_t stream, FlowIndex flow, double bytes, Nanoseconds now) {
    engine_->Start(flow, bytes, now);
    ++states_[stream].running;
  }

  // Begins the streams of the next turn once none of the turns before runs any more.
  void BeginTurns(Nanoseconds now) {
    while (unfinished_ == 0 && begun_ < states_.size()) {
      const std::size_t first = begun_;
      const std::int32_t turn = traffic_.streams[first].turn;
      while (begun_ < states_.size() && traffic_.streams[begun_].turn == turn) ++begun_;
      unfinished_ = begun_ - first;
      for (std::size_t s = first; s < begun_; ++s) BeginPhase(s, now);
    }
  }

  void BeginPhase(std::size_t stream, Nanoseconds now) {
    StreamState& state = states_[stream];
    times_.end = std::max(times_.end, now);
    if (state.phase == traffic_.streams[stream].phases.size()) {
      state.part = Part::kDone;
      --unfinished_;
      return;
    }
    const TrafficPhase& phase = PhaseOf(stream);
    state.latency = 0;
    std::vector<RankIndex> ranks;
    for (const TrafficFlow& flow : phase.flows) {
      state.latency = std::max(
          state.latency, Find(links_[stream], flow.from, flow.to, phase.is_send_receive).latency);
      ranks.insert(ranks.end(), {flow.from, flow.to});
    }
    for (const TrafficCopy& copy : phase.copies) ranks.push_back(copy.rank);
    std::sort(ranks.begin(), ranks.end());
    const auto members = std::unique(ranks.begin(), ranks.end()) - ranks.begin();
    const int barrier_hops =
        members < 2 ? 0 : std::bit_width(static_cast<std::uint64_t>(members - 1));
    const double costs_us =
        static_cast<double>(phase.launches) * constants_.eager_launch_us +
        static_cast<double>(phase.host_synchronizations) * constants_.host_synchronization_us;
    const double one = costs_us * 1e3 + static_cast<double>(phase.barriers) * barrier_hops *
                                            static_cast<double>(state.latency);
    state.part = Part::kCosts;
    SetTimer(stream, now + Repeated(phase, one));
  }

  // What `nanoseconds` of one repeat take in all of them.
  static Nanoseconds Repeated(const TrafficPhase& phase, double nanoseconds) {
    const double all = nanoseconds * static_cast<double>(phase.repeats);
    return all < static_cast<double>(kEndOfTime) ? static_cast<Nanoseconds>(std::llround(all))
                                                 : kEndOfTime;
  }

  void BeginCopies(std::size_t stream, Part part, Nanoseconds now) {
    const TrafficPhase& phase = PhaseOf(stream);
    states_[stream].part = part;
    for (const TrafficCopy& copy : phase.copies) {
      const std::int64_t bytes = part == Part::kPack ? copy.packed_bytes : copy.unpacked_bytes;
      if (bytes == 0) continue;
      StartFlow(stream, FindCopies(links_[stream], copy.rank).flow,
                static_cast<double>(bytes) * static_cast<double>(phase.repeats), now);
    }
    if (states_[stream].running == 0) PartRanOut(stream, now);
  }

  // Operations of the busiest rank, sends and receives apart.
  std::int64_t MostOperations(const TrafficPhase& phase) {
    std::vector<std::int64_t> sends(plan_.job.ranks.size());
    std::vector<std::int64_t> receives(plan_.job.ranks.size());
    std::int64_t most = 1;
    for (const TrafficFlow& flow : phase.flows) {
      most = std::max(most, sends[At(flow.from)] += flow.operations);
      most = std::max(most, receives[At(flow.to)] += flow.operations);
    }
    return most;
  }

  void BeginExchange(std::size_t stream, Nanoseconds now) {
    StreamState& state = states_[stream];
    const TrafficPhase& phase = PhaseOf(stream);
    if (phase.flows.empty()) return BeginCopies(stream, Part::kUnpack, now);
    std::int32_t last_hop = 0;
    for (const TrafficFlow& flow : phase.flows) last_hop = std::max(last_hop, flow.hop);
    state.hops.assign(At(last_hop) + 1, {});
    std::vector<double> chunk_ns(state.hops.size());
    for (const TrafficFlow& flow : phase.flows) {
      const Link& link = Find(links_[stream], flow.from, flow.to, phase.is_send_receive);
      state.hops[At(flow.hop)].push_back(
          {link.flow, static_cast<double>(flow.bytes) * static_cast<double>(phase.repeats)});
      const double chunk = static_cast<double>(std::min(flow.bytes, phase.chunk_bytes));
      double& longest = chunk_ns[At(flow.hop)];
      longest = std::max(longest, chunk / link.alone_gbps + static_cast<double>(link.latency));
    }
    const std::int64_t batches =
        phase.is_send_receive ? (MostOperations(phase) - 1) / operations_together_ : 0;
    const double group_ns =
        (constants_.group_us + static_cast<double>(batches) * constants_.batch_us) * 1e3;
    double filled = 0;  // by the last hop's start
    for (std::size_t hop = 0; hop < state.hops.size() - 1; ++hop) filled += chunk_ns[hop];
    // The latencies of all repeats but the last, whose own come with its bytes.
    const double before =
        group_ns * static_cast<double>(phase.repeats) +
        (filled + static_cast<double>(state.latency)) * static_cast<double>(phase.repeats - 1);
    state.hop_delays.clear();
    double delay = before;
    for (const double chunk : chunk_ns) {
      state.hop_delays.push_back(
          static_cast<Nanoseconds>(std::llround(std::min(delay, static_cast<double>(kEndOfTime)))));
      delay += chunk;
    }
    state.part = Part::kExchange;
    state.part_begin = now;
    state.next_hop = 0;
    SetTimer(stream, now + state.hop_delays[0]);
  }

  void TimerRang(std::size_t stream, Nanoseconds now) {
    StreamState& state = states_[stream];
    if (state.part == Part::kCosts) return BeginCopies(stream, Part::kPack, now);
    if (state.part == Part::kLatency) {
      for (const TrafficFlow& flow : PhaseOf(stream).flows) {
        for (const RankIndex rank : {flow.from, flow.to}) Record(rank, Lane::kExchange, now);
      }
      return BeginCopies(stream, Part::kUnpack, now);
    }
    for (const Start& start : state.hops[state.next_hop]) {
      StartFlow(stream, start.flow, start.bytes, now);
    }
    ++state.next_hop;
    if (state.next_hop < state.hops.size()) {
      SetTimer(stream, state.part_begin + state.hop_delays[state.next_hop]);
    } else if (state.running == 0) {
      PartRanOut(stream, now);
    }
  }

  // No flow of the stream runs any more.
  void PartRanOut(std::size_t stream, Nanoseconds now) {
    StreamState& state = states_[stream];
    switch (state.part) {
      case Part::kPack:
        RecordCopies(stream, Lane::kPack, now);
        return BeginExchange(stream, now);
      case Part::kExchange:
        if (state.next_hop < state.hops.size()) return;  // its timer is set
        state.part = Part::kLatency;
        return SetTimer(stream, now + state.latency);
      case Part::kUnpack:
        RecordCopies(stream, Lane::kUnpack, now);
        ++state.phase;
        return BeginPhase(stream, now);
      case Part::kCosts:
      case Part::kLatency:
      case Part::kDone:
        return;
    }
  }

  void Record(RankIndex rank, Lane lane, Nanoseconds now) {
    Nanoseconds& end = times_.lane_ends[At(rank) * kLaneCount + static_cast<std::size_t>(lane)];
    end = std::max(end, now);
  }

  void RecordCopies(std::size_t stream, Lane lane, Nanoseconds now) {
    for (const TrafficCopy& copy : PhaseOf(stream).copies) {
      const bool took_part = lane == Lane::kPack ? copy.packed_bytes > 0 : copy.unpacked_bytes > 0;
      if (took_part) Record(copy.rank, lane, now);
    }
  }

  const Plan& plan_;
  const Traffic& traffic_;
  const Machine& machine_;
  const Constants& constants_;
  const std::int64_t operations_together_;
  FlowTable table_;
  std::vector<Links> links_;  // per stream
  std::vector<std::size_t> stream_of_flow_;
  FlowEngine* engine_ = nullptr;
  std::vector<StreamState> states_;
  std::size_t begun_ = 0;       // streams, in their order
  std::size_t unfinished_ = 0;  // of them
  InstantTree timers_;          // per stream
  TrafficTimes times_;
};

}  // namespace

Result<TrafficTimes> RunTraffic(const Plan& plan, const Machine& machine,
                                const Constants& constants) {
  return TrafficReplay(plan, machine, constants).Run();
}

}  // namespace reshard
