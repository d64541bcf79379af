#include "simulator/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "schedules/number_text.h"
#include "simulator/arrow_choice.h"
#include "simulator/domain_load.h"
#include "simulator/preparation.h"
#include "simulator/replay.h"
#include "simulator/timeline.h"
#include "simulator/trace_events.h"

namespace reshard {
namespace {

constexpr std::int64_t kCounterPointsMin = 10;
constexpr std::int64_t kCounterPointsMax = 400;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

class TraceObserver final : public ReplayObserver {
 public:
  TraceObserver(const ReplayModel& model, const ArrowChoice& arrows, Nanoseconds stretch,
                TraceEvents& events)
      : model_(model),
        arrows_(arrows),
        timeline_(model.flows, model.capacities.size(), stretch),
        events_(events) {}

  void OnStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start,
              Nanoseconds end) override {
    const std::span<const Segment> segments =
        model_.Of(model_.ranks[At(rank)].lanes[static_cast<int>(lane)]);
    const auto next = std::upper_bound(
        segments.begin(), segments.end(), round,
        [](RoundIndex at, const Segment& segment) { return at < segment.first_round; });
    events_.AddStep(rank, lane, round, start, end, lane == Lane::kExchange ? "operations" : "bytes",
                    std::prev(next)->bytes);
  }

  void OnTransfer(TransferIndex index, RoundIndex round, std::int64_t bytes, Nanoseconds start,
                  Nanoseconds end) override {
    if (!arrows_.Wants(index, round)) return;
    const ModelTransfer& transfer = model_.transfers[At(index)];
    events_.AddArrow(next_arrow_++, transfer.from, transfer.to, round, bytes, start, end);
  }

  void OnFlow(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps) override {
    timeline_.Add(flow, begin, end, gbps);
  }

  const Timeline& timeline() const { return timeline_; }

 private:
  const ReplayModel& model_;
  const ArrowChoice& arrows_;
  Timeline timeline_;
  std::int64_t next_arrow_ = 0;
  TraceEvents& events_;
};

// Adds the counters of a trace once the replay is over.
class CounterWriter {
 public:
  CounterWriter(const Plan& plan, const Cluster& cluster, const Machine& machine,
                const Timeline& timeline, TraceEvents& events)
      : plan_(plan), cluster_(cluster), machine_(machine), timeline_(timeline), events_(events) {}

  void AddDomains(std::size_t stretches) {
    process_ = static_cast<std::int64_t>(plan_.job.ranks.size());
    unit_ = "% busy";
    const std::vector<DomainLoad> loads =
        DomainLoads(plan_, cluster_, machine_, timeline_, stretches);
    for (std::size_t domain = 0; domain < loads.size(); ++domain) {
      Add(fmt::format("domain {} NICs out", domain), loads[domain].nic_out, 100);
      Add(fmt::format("domain {} NICs in", domain), loads[domain].nic_in, 100);
      Add(fmt::format("domain {} NVLink", domain), loads[domain].nvlink, 100);
    }
  }

  void AddResources() {
    process_ = static_cast<std::int64_t>(plan_.job.ranks.size()) + 1;
    unit_ = "GB/s";
    for (const NicIndex nic : NicsOfRanks(plan_.job.ranks, cluster_)) {
      const double part = machine_.NicPart(nic);
      AddRate(fmt::format("NIC {} out", nic), machine_.NicOut(nic), part);
      AddRate(fmt::format("NIC {} in", nic), machine_.NicIn(nic), part);
    }
    for (const Rank& rank : plan_.job.ranks) {
      AddRate(fmt::format("GPU {} NVLink out", rank.gpu), machine_.NvlinkOut(rank.gpu), 1);
      AddRate(fmt::format("GPU {} NVLink in", rank.gpu), machine_.NvlinkIn(rank.gpu), 1);
    }
  }

 private:
  void AddRate(const std::string& name, ResourceIndex resource, double part) {
    Add(name, timeline_.Bytes(resource), part / static_cast<double>(timeline_.stretch()));
  }

  // A point wherever the value changes, and a 0 at the end.
  void Add(const std::string& name, const std::vector<double>& values, double factor) {
    double before = 0;
    for (std::size_t i = 0; i <= values.size(); ++i) {
      const double value = i < values.size() ? factor * values[i] : 0;
      if (value == before) continue;
      before = value;
      events_.AddCounter(process_, name, unit_, static_cast<Nanoseconds>(i) * timeline_.stretch(),
                         value);
    }
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const Machine& machine_;
  const Timeline& timeline_;
  TraceEvents& events_;
  std::int64_t process_ = 0;
  const char* unit_ = "";
};

void NameProcesses(const Plan& plan, TraceEvents& events) {
  const auto rank_count = static_cast<std::int64_t>(plan.job.ranks.size());
  events.NameProcess(rank_count, "domains", 0);
  for (std::int64_t rank = 0; rank < rank_count; ++rank) {
    events.NameRank(static_cast<RankIndex>(rank), plan.job.ranks[static_cast<std::size_t>(rank)],
                    1 + rank);
  }
  events.NameProcess(rank_count + 1, "NICs and NVLink", 1 + rank_count);
}

// How long the stretches are whose mean rates the counters show.
Nanoseconds StretchFor(const Plan& plan, const Cluster& cluster, Nanoseconds end,
                       std::int64_t points_max) {
  const auto counters = static_cast<std::int64_t>(
      2 * (NicsOfRanks(plan.job.ranks, cluster).size() + plan.job.ranks.size()));
  const std::int64_t points = std::clamp(points_max / std::max<std::int64_t>(counters, 1),
                                         kCounterPointsMin, kCounterPointsMax);
  return std::max<Nanoseconds>(1, (end + points - 1) / points);
}

}  // namespace

Result<Trace> MakeTrace(const Plan& plan, const Cluster& cluster, const Constants& constants,
                        const TraceOptions& options) {
  const Result<PreparedReplay> prepared = PrepareReplay(plan, cluster, constants);
  if (!prepared) return tl::unexpected(prepared.error());
  // The short way says how long the stretches of counters must be.
  const Result<ReplayOutcome> outline = RunReplay(prepared->model);
  if (!outline) return tl::unexpected(outline.error());
  const Nanoseconds stretch =
      StretchFor(plan, cluster, outline->times.end, options.counter_points_max);

  const ArrowChoice arrows(plan, prepared->model, options.arrows_max);
  Trace trace;
  trace.arrows = arrows.Text();
  trace.counters =
      fmt::format("mean rates over {} each", SecondsText(static_cast<double>(stretch) * 1e-9));
  TraceEvents events({std::string(kPredictedTrace),
                      plan.job_digest,
                      {{"arrows", trace.arrows}, {"counters", trace.counters}}});
  NameProcesses(plan, events);
  TraceObserver observer(prepared->model, arrows, stretch, events);
  const Result<ReplayOutcome> outcome = RunReplay(prepared->model, ReplayWay::kLong, &observer);
  if (!outcome) return tl::unexpected(outcome.error());
  CounterWriter counters(plan, cluster, prepared->machine, observer.timeline(), events);
  counters.AddDomains(static_cast<std::size_t>((outcome->times.end + stretch - 1) / stretch));
  counters.AddResources();
  trace.text = events.Take();
  return trace;
}

}  // namespace reshard
