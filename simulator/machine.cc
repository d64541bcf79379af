#include "simulator/machine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

std::string GpuName(GpuIndex gpu) { return "GPU " + std::to_string(gpu); }

// Bytes of a GPU's traffic on one rail.
double OnRail(std::int32_t rail, auto uses) {
  double sum = 0;
  for (const auto& use : uses) {
    if (use.rail == rail) sum += use.fraction;
  }
  return sum;
}

// Fractions below this are rounding, not traffic.
constexpr double kNoFraction = 1e-12;

}  // namespace

Nanoseconds NanosecondsOf(double microseconds) {
  return static_cast<Nanoseconds>(std::llround(microseconds * 1e3));
}

Machine::Machine(const Cluster& cluster, const Constants& constants, double nic_share,
                 std::int64_t channels_per_peer, std::span<const GpuIndex> relays)
    : cluster_(cluster),
      constants_(constants),
      nic_share_(nic_share),
      channels_per_peer_(channels_per_peer),
      is_relay_(cluster.gpus.size()) {
  for (std::size_t gpu = 0; gpu < cluster.gpus.size(); ++gpu) {
    const bool begins = gpu == 0 || cluster.gpus[gpu].node != cluster.gpus[gpu - 1].node;
    first_of_node_.push_back(begins ? static_cast<GpuIndex>(gpu) : first_of_node_.back());
  }
  for (const GpuIndex gpu : relays) is_relay_[At(gpu)] = 1;
  AddNics(nic_share);
  nvlink_ = static_cast<ResourceIndex>(capacities_.size());
  for (const Gpu& gpu : cluster.gpus) {
    const bool alone = cluster.domains[At(gpu.domain)].gpu_count == 1;
    capacities_.insert(capacities_.end(), 2, alone ? 0.0 : gpu.nvlink_gbps);
  }
  hbm_ = static_cast<ResourceIndex>(capacities_.size());
  for (const Gpu& gpu : cluster.gpus) {
    capacities_.push_back(gpu.hbm_gbps * constants.copy_hbm_share);
  }
  AddFabric();
}

void Machine::AddNics(double nic_share) {
  std::map<std::pair<std::vector<GpuIndex>, std::int32_t>, std::int32_t> known;
  set_of_nic_.reserve(cluster_.nics.size());
  for (const Nic& nic : cluster_.nics) {
    const auto [entry, is_new] =
        known.try_emplace({nic.gpus, nic.rail}, static_cast<std::int32_t>(nic_sets_.size()));
    if (is_new) nic_sets_.push_back({nic.rail, 0});
    nic_sets_[At(entry->second)].gbps += std::max(nic.gbps, 0.0) * nic_share;
    set_of_nic_.push_back(entry->second);
    rails_.push_back(nic.rail);
  }
  for (const NicSet& set : nic_sets_) capacities_.insert(capacities_.end(), 2, set.gbps);
  std::sort(rails_.begin(), rails_.end());
  rails_.erase(std::unique(rails_.begin(), rails_.end()), rails_.end());

  for (const Gpu& gpu : cluster_.gpus) {
    const std::size_t first = nic_uses_.size();
    std::vector<std::int32_t> sets;
    double total = 0;
    for (const NicIndex nic : gpu.nics) {
      const std::int32_t set = set_of_nic_[At(nic)];
      if (std::find(sets.begin(), sets.end(), set) != sets.end()) continue;
      sets.push_back(set);
      const double part =
          nic_sets_[At(set)].gbps / static_cast<double>(cluster_.nics[At(nic)].gpus.size());
      if (part <= 0) continue;
      nic_uses_.push_back({set, cluster_.nics[At(nic)].rail, part});
      total += part;
    }
    for (std::size_t i = first; i < nic_uses_.size(); ++i) nic_uses_[i].fraction /= total;
    nic_use_ends_.push_back(nic_uses_.size());
  }
}

void Machine::AddFabric() {
  fabric_ = static_cast<ResourceIndex>(capacities_.size());
  const Fabric& fabric = cluster_.fabric;
  if (fabric.rail_crossing == RailCrossing::kSpine) {
    for (const std::int32_t rail : rails_) {
      double sum = 0;
      for (const NicSet& set : nic_sets_) sum += set.rail == rail ? set.gbps : 0;
      capacities_.insert(capacities_.end(), 2, sum / fabric.spine_oversubscription);
    }
  }
  for (const Switch& element : fabric.switches) {
    std::vector<char>& inside = in_switch_.emplace_back(cluster_.domains.size());
    for (const DomainIndex domain : element.domains) inside[At(domain)] = 1;
    double sum = 0;
    for (std::size_t nic = 0; nic < cluster_.nics.size(); ++nic) {
      if (inside[At(cluster_.nics[nic].domain)] != 0) sum += NicRate(static_cast<NicIndex>(nic));
    }
    capacities_.insert(capacities_.end(), 2, sum / element.oversubscription);
  }
}

std::span<const Machine::NicUse> Machine::NicsOf(GpuIndex gpu) const {
  const std::size_t first = gpu == 0 ? 0 : nic_use_ends_[At(gpu - 1)];
  return std::span(nic_uses_).subspan(first, nic_use_ends_[At(gpu)] - first);
}

ResourceIndex Machine::NicOut(NicIndex nic) const { return 2 * set_of_nic_[At(nic)]; }

double Machine::NicRate(NicIndex nic) const {
  return std::max(cluster_.nics[At(nic)].gbps, 0.0) * nic_share_;
}

double Machine::NicPart(NicIndex nic) const {
  const double whole = nic_sets_[At(set_of_nic_[At(nic)])].gbps;
  return whole > 0 ? NicRate(nic) / whole : 0;
}

std::string Machine::FabricName(ResourceIndex resource) const {
  const auto index = static_cast<std::size_t>(resource - fabric_);
  const std::size_t rails =
      cluster_.fabric.rail_crossing == RailCrossing::kSpine ? 2 * rails_.size() : 0;
  if (index < rails) {
    return "rail " + std::to_string(rails_[index / 2]) +
           (index % 2 == 0 ? " to other rails" : " from other rails");
  }
  return "switch " + std::to_string((index - rails) / 2) +
         ((index - rails) % 2 == 0 ? " egress" : " ingress");
}

void Machine::AddShare(ResourceIndex resource, double share, FlowPath& path) const {
  if (share <= kNoFraction) return;
  for (ResourceShare& known : path.shares) {
    if (known.resource == resource) {
      known.share += share;
      return;
    }
  }
  path.shares.push_back({resource, share});
}

void Machine::AddSwitches(DomainIndex from, DomainIndex to, FlowPath& path) const {
  const auto first = static_cast<ResourceIndex>(capacities_.size() - 2 * in_switch_.size());
  for (std::size_t i = 0; i < in_switch_.size(); ++i) {
    const ResourceIndex resource = first + 2 * static_cast<ResourceIndex>(i);
    const bool leaves = in_switch_[i][At(from)] != 0;
    const bool enters = in_switch_[i][At(to)] != 0;
    if (leaves && !enters) AddShare(resource, 1, path);
    if (enters && !leaves) AddShare(resource + 1, 1, path);
  }
}

// NICs and, where the fabric limits it, what crosses from rail to rail: on each rail as many bytes
// stay on it as both ends use it for; the rest crosses.
Result<void> Machine::Route(GpuIndex from, GpuIndex to, FlowPath& path) const {
  const std::span<const NicUse> out = NicsOf(from);
  const std::span<const NicUse> in = NicsOf(to);
  for (const auto& [gpu, uses] : {std::pair(from, out), std::pair(to, in)}) {
    if (uses.empty()) {
      return InputError("cluster: " + GpuName(gpu),
                        "has no NIC with a rate above 0 but must exchange bytes with " +
                            GpuName(gpu == from ? to : from) + " of another domain",
                        "give it a NIC, or take it out of the job");
    }
  }
  if (cluster_.fabric.rail_crossing == RailCrossing::kNone) {
    double aligned = 0;
    for (const std::int32_t rail : rails_) aligned += std::min(OnRail(rail, out), OnRail(rail, in));
    if (aligned <= kNoFraction) {
      return InputError("cluster: fabric.railCrossing",
                        GpuName(from) + " and " + GpuName(to) +
                            " share no rail, and nothing crosses between rails",
                        "use a plan compiled for this fabric");
    }
    // Each rail carries its part of the aligned bytes, split over a GPU's NICs of that rail.
    const auto kept = [&](const NicUse& use, std::span<const NicUse> own) {
      const double rail = std::min(OnRail(use.rail, out), OnRail(use.rail, in)) / aligned;
      return rail * use.fraction / OnRail(use.rail, own);
    };
    for (const NicUse& use : out) AddShare(2 * use.nic_set, kept(use, out), path);
    for (const NicUse& use : in) AddShare(2 * use.nic_set + 1, kept(use, in), path);
    return {};
  }
  for (const NicUse& use : out) AddShare(2 * use.nic_set, use.fraction, path);
  for (const NicUse& use : in) AddShare(2 * use.nic_set + 1, use.fraction, path);
  if (cluster_.fabric.rail_crossing == RailCrossing::kSpine) {
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const double surplus = OnRail(rails_[i], out) - OnRail(rails_[i], in);
      const ResourceIndex leaves = fabric_ + 2 * static_cast<ResourceIndex>(i);
      if (surplus > 0) AddShare(leaves, surplus, path);
      if (surplus < 0) AddShare(leaves + 1, -surplus, path);
    }
  }
  return {};
}

double Machine::AlignedPart(GpuIndex from, GpuIndex to) const {
  double aligned = 0;
  for (const std::int32_t rail : rails_) {
    aligned += std::min(OnRail(rail, NicsOf(from)), OnRail(rail, NicsOf(to)));
  }
  return aligned;
}

GpuIndex Machine::RelayOf(GpuIndex from, GpuIndex to) const {
  const GpuIndex relay = first_of_node_[At(from)] + to - first_of_node_[At(to)];
  const bool is_there = At(relay) < cluster_.gpus.size() && is_relay_[At(relay)] != 0 &&
                        first_of_node_[At(relay)] == first_of_node_[At(from)] &&
                        cluster_.gpus[At(relay)].domain == cluster_.gpus[At(from)].domain;
  if (!is_there || relay == from || NicsOf(relay).empty()) return from;
  if (capacities_[At(NvlinkOut(from))] <= 0 || capacities_[At(NvlinkIn(relay))] <= 0) return from;
  const double own = AlignedPart(from, to);
  return own < 1 - kNoFraction && AlignedPart(relay, to) > own + kNoFraction ? relay : from;
}

Result<FlowPath> Machine::PathInside(GpuIndex from, GpuIndex to, Carrier carrier) const {
  FlowPath path;
  double slower = kUncapped;
  for (const GpuIndex gpu : {from, to}) {
    const double gbps = capacities_[At(NvlinkOut(gpu))];
    slower = std::min(slower, gbps);
    if (gbps > 0) continue;
    return InputError("cluster: " + GpuName(gpu),
                      "has no NVLink (0 GB/s) but must exchange bytes with " +
                          GpuName(gpu == from ? to : from) + " of its domain",
                      "give it a rate, or take it out of the job");
  }
  path.shares = {{NvlinkOut(from), 1}, {NvlinkIn(to), 1}};
  const double latency_us = cluster_.domains[At(cluster_.gpus[At(from)].domain)].nvlink_latency_us;
  path.latency = NanosecondsOf(latency_us);
  path.ll_latency = NanosecondsOf(latency_us * constants_.ll_nvlink_latency_share);
  if (carrier == Carrier::kAllChannels) return path;
  path.channel_gbps = slower * constants_.nvlink_channel_share;
  const double cap = path.channel_gbps * static_cast<double>(channels_per_peer_);
  if (cap < slower) path.cap_gbps = cap;
  return path;
}

Result<FlowPath> Machine::PathBetween(GpuIndex from, GpuIndex to, Carrier carrier) const {
  const Domain& out = cluster_.domains[At(cluster_.gpus[At(from)].domain)];
  const Domain& in = cluster_.domains[At(cluster_.gpus[At(to)].domain)];
  if (&out == &in) return PathInside(from, to, carrier);
  FlowPath path;
  const GpuIndex leaves = carrier == Carrier::kPeerChannels ? RelayOf(from, to) : from;
  if (Result<void> routed = Route(leaves, to, path); !routed) {
    return tl::unexpected(routed.error());
  }
  AddSwitches(cluster_.gpus[At(from)].domain, cluster_.gpus[At(to)].domain, path);
  const double network_us = std::max(out.network_latency_us, in.network_latency_us);
  double nvlink_us = 0;
  if (leaves != from) {
    AddShare(NvlinkOut(from), 1, path);
    AddShare(NvlinkIn(leaves), 1, path);
    nvlink_us = out.nvlink_latency_us;
  }
  path.latency = NanosecondsOf(network_us + nvlink_us);
  path.ll_latency = NanosecondsOf(network_us * constants_.ll_network_latency_share +
                                  nvlink_us * constants_.ll_nvlink_latency_share);
  double alone = kUncapped;
  for (const ResourceShare& use : path.shares) {
    alone = std::min(alone, capacities_[At(use.resource)] / use.share);
    if (capacities_[At(use.resource)] > 0) continue;
    return InputError("cluster: " + (use.resource < fabric_ ? GpuName(from) + " to " + GpuName(to)
                                                            : FabricName(use.resource)),
                      "0 GB/s, but bytes must pass", "give it a rate above 0");
  }
  if (carrier == Carrier::kAllChannels) return path;
  path.channel_gbps = constants_.network_channel_gbps;
  const double cap = path.channel_gbps * static_cast<double>(channels_per_peer_);
  // A cap that no share of the wire can exceed costs the solver a sort and says nothing.
  if (cap < alone) path.cap_gbps = cap;
  return path;
}

Result<FlowPath> Machine::CopyPath(GpuIndex gpu) const {
  if (!(capacities_[At(Hbm(gpu))] > 0)) {
    return InputError("cluster: " + GpuName(gpu), "hbmGBps is 0 but it must pack or unpack",
                      "give it a rate above 0");
  }
  FlowPath path;
  path.shares = {{Hbm(gpu), 2}};
  return path;
}

}  // namespace reshard
