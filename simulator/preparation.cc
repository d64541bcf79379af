#include "simulator/preparation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "simulator/peer_channels.h"
#include "simulator/workload.h"

namespace reshard {
namespace {

Result<void> CheckCluster(const Cluster& cluster, double nic_share) {
  if (!(nic_share > 0) || nic_share > 1) {
    return InputError("plan: options.nicShare", "is not above 0 and at most 1");
  }
  for (std::size_t index = 0; index < cluster.gpus.size(); ++index) {
    const Gpu& gpu = cluster.gpus[index];
    const bool domain =
        gpu.domain >= 0 && gpu.domain < static_cast<std::int64_t>(cluster.domains.size());
    const bool nics = std::all_of(gpu.nics.begin(), gpu.nics.end(), [&](NicIndex nic) {
      return nic >= 0 && nic < static_cast<std::int64_t>(cluster.nics.size());
    });
    if (!domain || !nics) {
      return InputError("cluster: GPU " + std::to_string(index),
                        domain ? "names a NIC that is not there" : "its domain is not there");
    }
  }
  return {};
}

Machine MachineOf(const Plan& plan, const Cluster& cluster, const Constants& constants) {
  const bool relays_sends =
      constants.pxn == kPxnForAll || (constants.pxn == kPxnForOthers && plan.traffic);
  std::vector<GpuIndex> relays;
  for (const Rank& rank : plan.job.ranks) {
    // A rank on no GPU of the cluster is refused later, with its place.
    const bool exists = rank.gpu >= 0 && rank.gpu < static_cast<GpuIndex>(cluster.gpus.size());
    if (relays_sends && exists) relays.push_back(rank.gpu);
  }
  return {cluster, constants, plan.job.options.nic_share, ChannelsPerPeer(plan, constants), relays};
}

}  // namespace

Result<Machine> PrepareMachine(const Plan& plan, const Cluster& cluster,
                               const Constants& constants) {
  if (Result<void> checked = CheckCluster(cluster, plan.job.options.nic_share); !checked) {
    return tl::unexpected(checked.error());
  }
  if (Result<void> checked = CheckRanks(plan, cluster); !checked) {
    return tl::unexpected(checked.error());
  }
  return MachineOf(plan, cluster, constants);
}

Result<PreparedReplay> PrepareReplay(const Plan& plan, const Cluster& cluster,
                                     const Constants& constants) {
  if (plan.traffic) {
    return InputError("plan", "is simulation-only and has no rounds to show",
                      "use a plan of --planner optimal");
  }
  if (Result<void> checked = CheckCluster(cluster, plan.job.options.nic_share); !checked) {
    return tl::unexpected(checked.error());
  }
  Result<Workload> workload = MakeWorkload(plan);
  if (!workload) return tl::unexpected(workload.error());
  Machine machine = MachineOf(plan, cluster, constants);
  Result<ReplayModel> model =
      MakeReplayModel(plan, cluster, machine, constants, std::move(*workload));
  if (!model) return tl::unexpected(model.error());
  return PreparedReplay{std::move(machine), std::move(*model)};
}

}  // namespace reshard
