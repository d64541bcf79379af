#include "simulator/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "simulator/domain_load.h"
#include "simulator/preparation.h"
#include "simulator/replay.h"
#include "simulator/traffic_replay.h"

namespace reshard {
namespace {

constexpr double kSecondsPerNanosecond = 1e-9;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

double SecondsOf(Nanoseconds time) { return static_cast<double>(time) * kSecondsPerNanosecond; }

class UseReport {
 public:
  UseReport(const Machine& machine, std::vector<double> bytes, double seconds)
      : machine_(machine), bytes_(std::move(bytes)), seconds_(seconds) {}

  // `part` of the resource, under a name of its own.
  void Add(std::string name, ResourceIndex resource, double part) {
    ResourceUse& use = uses_.emplace_back();
    use.name = std::move(name);
    use.rate_gbps = machine_.capacities()[At(resource)] * part;
    use.bytes = static_cast<std::int64_t>(std::llround(bytes_[At(resource)] * part));
    const double possible = use.rate_gbps * 1e9 * seconds_;
    use.busy = possible > 0 ? static_cast<double>(use.bytes) / possible : 0;
  }
  std::vector<ResourceUse> Take() { return std::move(uses_); }

 private:
  const Machine& machine_;
  std::vector<double> bytes_;
  double seconds_;
  std::vector<ResourceUse> uses_;
};

// Resources of the plan's GPUs, and the fabric's: NICs, then NVLink, then HBM, then fabric.
std::vector<ResourceUse> ReportUses(const Plan& plan, const Cluster& cluster,
                                    const Machine& machine, std::vector<double> bytes,
                                    double seconds) {
  UseReport report(machine, std::move(bytes), seconds);

  for (const NicIndex nic : NicsOfRanks(plan.job.ranks, cluster)) {
    const std::string name = "NIC " + std::to_string(nic);
    report.Add(name + " out", machine.NicOut(nic), machine.NicPart(nic));
    report.Add(name + " in", machine.NicIn(nic), machine.NicPart(nic));
  }
  for (const Rank& rank : plan.job.ranks) {
    const std::string name = "GPU " + std::to_string(rank.gpu);
    report.Add(name + " NVLink out", machine.NvlinkOut(rank.gpu), 1);
    report.Add(name + " NVLink in", machine.NvlinkIn(rank.gpu), 1);
  }
  for (const Rank& rank : plan.job.ranks) {
    report.Add("GPU " + std::to_string(rank.gpu) + " HBM", machine.Hbm(rank.gpu), 1);
  }
  const auto end = static_cast<ResourceIndex>(machine.capacities().size());
  for (ResourceIndex resource = machine.first_fabric(); resource < end; ++resource) {
    report.Add(machine.FabricName(resource), resource, 1);
  }
  return report.Take();
}

std::vector<RankTimes> TimesOfRanks(const std::vector<Nanoseconds>& lane_ends) {
  std::vector<RankTimes> times;
  for (std::size_t first = 0; first < lane_ends.size(); first += kLaneCount) {
    const auto end = [&](Lane lane) {
      return SecondsOf(lane_ends[first + static_cast<std::size_t>(lane)]);
    };
    times.push_back({end(Lane::kPack), end(Lane::kExchange), end(Lane::kUnpack)});
  }
  return times;
}

Result<SimulationResult> SimulateTraffic(const Plan& plan, const Cluster& cluster,
                                         const Constants& constants) {
  const Result<Machine> machine = PrepareMachine(plan, cluster, constants);
  if (!machine) return tl::unexpected(machine.error());
  Result<TrafficTimes> times = RunTraffic(plan, *machine, constants);
  if (!times) return tl::unexpected(times.error());
  SimulationResult result;
  result.seconds = SecondsOf(times->end);
  result.ranks = TimesOfRanks(times->lane_ends);
  result.resources =
      ReportUses(plan, cluster, *machine, std::move(times->resource_bytes), result.seconds);
  return result;
}

}  // namespace

Result<double> SimulateSeconds(const Plan& plan, const Cluster& cluster,
                               const Constants& constants) {
  if (plan.traffic) {
    return PrepareMachine(plan, cluster, constants).and_then([&](const Machine& machine) {
      return RunTraffic(plan, machine, constants).map([](const TrafficTimes& times) {
        return SecondsOf(times.end);
      });
    });
  }
  return PrepareReplay(plan, cluster, constants).and_then([](const PreparedReplay& prepared) {
    return RunReplay(prepared.model).map([](const ReplayOutcome& outcome) {
      return SecondsOf(outcome.times.end);
    });
  });
}

Result<SimulationResult> Simulate(const Plan& plan, const Cluster& cluster,
                                  const Constants& constants) {
  if (plan.traffic) return SimulateTraffic(plan, cluster, constants);
  const Result<PreparedReplay> prepared = PrepareReplay(plan, cluster, constants);
  if (!prepared) return tl::unexpected(prepared.error());
  const Result<ReplayOutcome> outcome = RunReplay(prepared->model);
  if (!outcome) return tl::unexpected(outcome.error());
  const ReplayTimes& times = outcome->times;

  SimulationResult result;
  result.seconds = SecondsOf(times.end);
  result.ranks = TimesOfRanks(times.lane_ends);
  for (const Nanoseconds end : times.round_ends) {
    result.round_end_seconds.push_back(SecondsOf(end));
  }
  Result<std::vector<double>> bytes = BytesPerResource(prepared->model);
  if (!bytes) return tl::unexpected(bytes.error());
  result.resources =
      ReportUses(plan, cluster, prepared->machine, *std::move(bytes), result.seconds);
  return result;
}

}  // namespace reshard
