#include "sample_plan.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace reshard {

Cluster SampleCluster(int domains, int gpus_per_domain) {
  Cluster cluster;
  for (int domain = 0; domain < domains; ++domain) {
    cluster.domains.push_back({"sample", domain * gpus_per_domain, gpus_per_domain, 0, 0});
    for (int local = 0; local < gpus_per_domain; ++local) {
      const GpuIndex gpu = domain * gpus_per_domain + local;
      cluster.gpus.push_back({domain, domain, 400, 1000, {gpu}, false});
      cluster.nics.push_back({domain, domain, local, 50, {gpu}});
    }
  }
  cluster.node_count = domains;
  return cluster;
}

Constants FreeConstants() {
  Constants constants;
  constants.network_channel_gbps = 1e6;
  constants.nvlink_channel_share = 1;
  constants.channels = 32;
  constants.operations_per_channel = 8;
  constants.copy_hbm_share = 1;
  return constants;
}

SamplePlan::SamplePlan(const Cluster& cluster) {
  for (std::size_t gpu = 0; gpu < cluster.gpus.size(); ++gpu) {
    Rank rank;
    rank.gpu = static_cast<std::int32_t>(gpu);
    rank.node = cluster.gpus[gpu].node;
    rank.domain = cluster.gpus[gpu].domain;
    plan.job.ranks.push_back(rank);
  }
  plan.schedules.resize(cluster.gpus.size());
  plan.channels.channels_per_net_peer = 4;
}

ColumnIndex SamplePlan::AddColumn(std::int64_t bytes, int chunks) {
  const auto weight = static_cast<std::uint32_t>((std::int64_t{1} << 32) / std::max(chunks, 2));
  plan.profiles.push_back({std::vector<std::uint32_t>(static_cast<std::size_t>(chunks), weight)});
  plan.columns.push_back({0, static_cast<ProfileIndex>(plan.profiles.size() - 1), 0, bytes});
  return static_cast<ColumnIndex>(plan.columns.size()) - 1;
}

SamplePlan& SamplePlan::Send(RankIndex from, RankIndex to, std::int64_t bytes,
                             RoundIndex first_round, int chunks, bool packed, bool unpacked) {
  const ColumnIndex column = AddColumn(bytes, chunks);
  std::vector<Slot>& out = plan.schedules[static_cast<std::size_t>(from)].slots;
  std::vector<Slot>& in = plan.schedules[static_cast<std::size_t>(to)].slots;
  Slot source;
  source.kind = packed ? SlotKind::kPack : SlotKind::kReceive;
  source.items.push_back({column, first_round, kFromParameters, 0, false});
  out.push_back(source);
  Slot destination;
  destination.kind = SlotKind::kReceive;
  destination.items.push_back({column, first_round, kFromParameters, 0, unpacked});
  in.push_back(destination);
  plan.transfers.push_back({from,
                            to,
                            0,
                            {static_cast<SlotIndex>(out.size()) - 1, 0, 1},
                            {static_cast<SlotIndex>(in.size()) - 1, 0, 1}});
  plan.round_count = std::max(plan.round_count, first_round + chunks);
  return *this;
}

SamplePlan& SamplePlan::Move(RankIndex rank, std::int64_t bytes, RoundIndex first_round,
                             int chunks) {
  const ColumnIndex column = AddColumn(bytes, chunks);
  plan.schedules[static_cast<std::size_t>(rank)].local_moves.push_back({column, first_round});
  plan.round_count = std::max(plan.round_count, first_round + chunks);
  return *this;
}

SamplePlan& SamplePlan::WaitFor(RankIndex rank, Lane lane, Lane on, std::int32_t lag) {
  plan.schedules[static_cast<std::size_t>(rank)].waits.push_back({lane, on, lag});
  return *this;
}

}  // namespace reshard
