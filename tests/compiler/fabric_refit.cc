#include "tests/compiler/fabric_refit.h"

#include <algorithm>
#include <cstddef>

#include "tests/compiler/random_draws.h"

namespace reshard {
namespace {

// `count` NICs for the GPUs of a domain, in place of those it had: one for `gpus_each` GPUs, or
// `nics_each` for each.
void ReplaceNics(std::int32_t gpus_each, std::int32_t nics_each, Cluster& cluster) {
  std::vector<Nic> nics;
  double gbps = 48;
  for (const Nic& nic : cluster.nics) gbps = std::max(gbps, nic.gbps);
  for (const Domain& domain : cluster.domains) {
    for (std::int32_t g = 0; g < domain.gpu_count; g += gpus_each) {
      for (std::int32_t k = 0; k < nics_each; ++k) {
        Nic nic;
        nic.domain = static_cast<DomainIndex>(&domain - cluster.domains.data());
        nic.node = cluster.gpus[static_cast<std::size_t>(domain.first_gpu + g)].node;
        nic.rail = g / gpus_each * nics_each + k;
        nic.gbps = gbps;
        for (std::int32_t i = g; i < std::min(g + gpus_each, domain.gpu_count); ++i) {
          nic.gpus.push_back(domain.first_gpu + i);
        }
        nics.push_back(std::move(nic));
      }
    }
  }
  cluster.nics = std::move(nics);
  for (Gpu& gpu : cluster.gpus) gpu.nics.clear();
  for (std::size_t n = 0; n < cluster.nics.size(); ++n) {
    for (const GpuIndex g : cluster.nics[n].gpus) {
      cluster.gpus[static_cast<std::size_t>(g)].nics.push_back(static_cast<NicIndex>(n));
    }
  }
}

void AddSwitches(RandomDraws& draws, Cluster& cluster) {
  const auto count = static_cast<std::int64_t>(cluster.domains.size());
  const auto cut = static_cast<DomainIndex>(draws.Between(1, count - 1));
  Switch low{{}, static_cast<double>(draws.Between(2, 4))};
  Switch high{{}, static_cast<double>(draws.Between(2, 4))};
  for (DomainIndex d = 0; d < static_cast<DomainIndex>(count); ++d) {
    (d < cut ? low : high).domains.push_back(d);
  }
  cluster.fabric.switches = {low, high};
}

// Each NIC at `share` of its rate with a chance of `percent`; a domain keeps one as it is.
void Slow(std::int64_t percent, double share, RandomDraws& draws, Cluster& cluster) {
  for (const Domain& domain : cluster.domains) {
    const auto index = static_cast<DomainIndex>(&domain - cluster.domains.data());
    std::vector<Nic*> own;
    for (Nic& nic : cluster.nics) {
      if (nic.domain == index) own.push_back(&nic);
    }
    const std::int64_t kept = draws.Below(static_cast<std::int64_t>(own.size()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool slow = draws.Percent(percent);
      if (slow && static_cast<std::int64_t>(i) != kept) own[i]->gbps *= share;
    }
  }
}

}  // namespace

const std::vector<std::string>& FabricKinds() {
  static const std::vector<std::string> kinds{
      "none",        "spine 2",      "spine 4",       "spine 8",      "switches",
      "missing",     "missing none", "missing spine", "slow none",    "slow spine",
      "shared none", "shared spine", "paired none",   "paired spine", "bare"};
  return kinds;
}

RandomRefit MakeFabricRefit(std::string_view kind, std::uint64_t seed) {
  RandomRefit refit = MakeRandomRefit(seed);
  Cluster& cluster = refit.cluster;
  RandomDraws draws(seed);
  if (kind.starts_with("missing")) Slow(20, 0, draws, cluster);
  if (kind.starts_with("slow")) Slow(25, 0.5, draws, cluster);
  if (kind.starts_with("shared")) ReplaceNics(2, 1, cluster);
  if (kind.starts_with("paired")) ReplaceNics(1, 2, cluster);
  if (kind == "switches") AddSwitches(draws, cluster);
  if (kind == "bare") {
    for (Gpu& gpu : cluster.gpus) {
      if (draws.Percent(20) && !gpu.nics.empty()) gpu.nvlink_gbps = 0;
    }
  }
  if (kind.ends_with("none")) cluster.fabric.rail_crossing = RailCrossing::kNone;
  if (kind.find("spine") != std::string_view::npos) {
    cluster.fabric.rail_crossing = RailCrossing::kSpine;
    cluster.fabric.spine_oversubscription = kind == "spine 2" ? 2 : kind == "spine 8" ? 8 : 4;
  }
  refit.kind = std::string(kind) + ", " + refit.kind;
  return refit;
}

}  // namespace reshard
