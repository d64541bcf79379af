#include "simulator/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "simulator/preparation.h"
#include "simulator/replay.h"
#include "simulator/timeline.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr const char* kLaneNames[kLaneCount] = {"pack", "exchange", "unpack"};

// Nanoseconds as microseconds with three decimals, the format's unit.
std::string Microseconds(Nanoseconds time) {
  return fmt::format("{}.{:03}", time / 1000, time % 1000);
}

// Writes the events of a trace, one a line. All names are made of letters, digits and spaces.
class EventWriter {
 public:
  template <typename... Arguments>
  void Add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (!first_) text_ += ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }
  std::string Take() {
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  std::string text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  bool first_ = true;
};

class TraceObserver final : public ReplayObserver {
 public:
  TraceObserver(const ReplayModel& model, Nanoseconds stretch, std::int64_t arrows_max,
                EventWriter& events)
      : model_(model),
        timeline_(model.flows, model.capacities.size(), stretch),
        arrows_left_(arrows_max),
        events_(events) {}

  void OnStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start,
              Nanoseconds end) override {
    const int thread = static_cast<int>(lane);
    events_.Add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"round {}","cat":"{}"}})",
                rank, thread, Microseconds(start), Microseconds(end - start), round,
                kLaneNames[thread]);
  }

  void OnTransfer(TransferIndex index, RoundIndex round, std::int64_t bytes, Nanoseconds start,
                  Nanoseconds end) override {
    if (arrows_left_ == 0) return;
    --arrows_left_;
    const ModelTransfer& transfer = model_.transfers[At(index)];
    const int thread = static_cast<int>(Lane::kExchange);
    events_.Add(
        R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"name":"transfer","cat":"transfer",)"
        R"("args":{{"round":{},"bytes":{},"from":{},"to":{}}}}})",
        arrows_left_, transfer.from, thread, Microseconds(start), round, bytes, transfer.from,
        transfer.to);
    events_.Add(
        R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"transfer","cat":"transfer"}})",
        arrows_left_, transfer.to, thread, Microseconds(end));
  }

  void OnFlow(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps) override {
    timeline_.Add(flow, begin, end, gbps);
  }

  const Timeline& timeline() const { return timeline_; }

 private:
  const ReplayModel& model_;
  Timeline timeline_;
  std::int64_t arrows_left_;
  EventWriter& events_;
};

void NameTracks(const Plan& plan, EventWriter& events) {
  const auto name_process = [&](std::size_t process, const std::string& name) {
    events.Add(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}}}})",
               process, name);
  };
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    name_process(rank, fmt::format("rank {} (GPU {} in domain {})", rank, plan.job.ranks[rank].gpu,
                                   plan.job.ranks[rank].domain));
    for (int lane = 0; lane < kLaneCount; ++lane) {
      events.Add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                 rank, lane, kLaneNames[lane]);
    }
  }
  name_process(plan.job.ranks.size(), "NICs and NVLink");
}

// A counter of the part `part` of a resource: a point wherever its mean rate changes.
void AddCounter(const Timeline& timeline, ResourceIndex resource, double part, std::size_t process,
                const std::string& name, EventWriter& events) {
  const std::vector<double>& bytes = timeline.Bytes(resource);
  double before = 0;
  for (std::size_t i = 0; i <= bytes.size(); ++i) {
    const double rate =
        i < bytes.size() ? part * bytes[i] / static_cast<double>(timeline.stretch()) : 0;
    if (rate == before) continue;
    before = rate;
    events.Add(R"({{"ph":"C","pid":{},"tid":0,"ts":{},"name":"{}","args":{{"GB/s":{:.6g}}}}})",
               process, Microseconds(static_cast<Nanoseconds>(i) * timeline.stretch()), name, rate);
  }
}

void AddCounters(const Plan& plan, const Cluster& cluster, const Machine& machine,
                 const Timeline& timeline, EventWriter& events) {
  const std::size_t process = plan.job.ranks.size();
  std::vector<NicIndex> nics;
  for (const Rank& rank : plan.job.ranks) {
    const std::vector<NicIndex>& own = cluster.gpus[At(rank.gpu)].nics;
    nics.insert(nics.end(), own.begin(), own.end());
  }
  std::sort(nics.begin(), nics.end());
  nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
  for (const NicIndex nic : nics) {
    const double part = machine.NicPart(nic);
    const auto add = [&](ResourceIndex resource, const char* way) {
      AddCounter(timeline, resource, part, process, fmt::format("NIC {} {}", nic, way), events);
    };
    add(machine.NicOut(nic), "out");
    add(machine.NicIn(nic), "in");
  }
  for (const Rank& rank : plan.job.ranks) {
    const auto add = [&](ResourceIndex resource, const char* way) {
      AddCounter(timeline, resource, 1, process, fmt::format("GPU {} NVLink {}", rank.gpu, way),
                 events);
    };
    add(machine.NvlinkOut(rank.gpu), "out");
    add(machine.NvlinkIn(rank.gpu), "in");
  }
}

}  // namespace

Result<std::string> MakeTrace(const Plan& plan, const Cluster& cluster, const Constants& constants,
                              const TraceOptions& options) {
  const Result<PreparedReplay> prepared = PrepareReplay(plan, cluster, constants);
  if (!prepared) return tl::unexpected(prepared.error());
  // The short way says how long the stretches of counters must be.
  const Result<ReplayOutcome> outline = RunReplay(prepared->model);
  if (!outline) return tl::unexpected(outline.error());
  const Nanoseconds stretch = std::max<Nanoseconds>(
      1, outline->times.end / std::max<Nanoseconds>(1, options.counter_points));

  EventWriter events;
  NameTracks(plan, events);
  TraceObserver observer(prepared->model, stretch, options.arrows_max, events);
  const Result<ReplayOutcome> outcome = RunReplay(prepared->model, ReplayWay::kLong, &observer);
  if (!outcome) return tl::unexpected(outcome.error());
  AddCounters(plan, cluster, prepared->machine, observer.timeline(), events);
  return events.Take();
}

}  // namespace reshard
