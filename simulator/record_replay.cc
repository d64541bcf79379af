#include "simulator/record_replay.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "simulator/domain_load.h"
#include "simulator/preparation.h"
#include "simulator/replay.h"
#include "simulator/timeline.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

class Recorder final : public ReplayObserver {
 public:
  Recorder(const Plan& plan, std::size_t domain_count, const ReplayModel& model,
           Nanoseconds stretch)
      : plan_(plan), timeline_(model.flows, model.capacities.size(), stretch) {
    const std::vector<std::int64_t> none(domain_count);
    record_.rounds.assign(At(model.round_count), {none, none, none});
    record_.stretch_ns = stretch;
  }

  void OnStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start,
              Nanoseconds end) override {
    record_.steps.push_back({rank, lane, round, start, end});
  }

  void OnTransfer(TransferIndex index, RoundIndex round, std::int64_t bytes, Nanoseconds /*start*/,
                  Nanoseconds /*end*/) override {
    const Transfer& transfer = plan_.transfers[At(index)];
    const std::int32_t from = plan_.job.ranks[At(transfer.from)].domain;
    const std::int32_t to = plan_.job.ranks[At(transfer.to)].domain;
    RoundTraffic& traffic = record_.rounds[At(round)];
    if (from == to) {
      traffic.inside[At(from)] += bytes;
      return;
    }
    traffic.out[At(from)] += bytes;
    traffic.in[At(to)] += bytes;
  }

  void OnFlow(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps) override {
    timeline_.Add(flow, begin, end, gbps);
  }

  const Timeline& timeline() const { return timeline_; }
  ReplayRecord Take() { return std::move(record_); }

 private:
  const Plan& plan_;
  Timeline timeline_;
  ReplayRecord record_;
};

}  // namespace

Result<ReplayRecord> RecordReplay(const Plan& plan, const Cluster& cluster,
                                  const Constants& constants, std::int64_t stretches) {
  const Result<PreparedReplay> prepared = PrepareReplay(plan, cluster, constants);
  if (!prepared) return tl::unexpected(prepared.error());
  // The short way says how long the stretches must be.
  const Result<ReplayOutcome> outline = RunReplay(prepared->model);
  if (!outline) return tl::unexpected(outline.error());
  const Nanoseconds stretch = std::max<Nanoseconds>(1, outline->times.end / stretches);
  Recorder recorder(plan, cluster.domains.size(), prepared->model, stretch);
  const Result<ReplayOutcome> outcome = RunReplay(prepared->model, ReplayWay::kLong, &recorder);
  if (!outcome) return tl::unexpected(outcome.error());
  const std::int64_t count = (outcome->times.end + stretch - 1) / stretch;
  std::vector<DomainLoad> loads = DomainLoads(plan, cluster, prepared->machine, recorder.timeline(),
                                              static_cast<std::size_t>(count));
  ReplayRecord record = recorder.Take();
  record.end_ns = outcome->times.end;
  record.domains = std::move(loads);
  return record;
}

}  // namespace reshard
