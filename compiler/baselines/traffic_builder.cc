#include "compiler/baselines/traffic_builder.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reshard {
namespace {

// What a class's needers that do not hold it lack together, per byte of it.
std::int64_t Lackers(const Demand& demand, const DemandClass& demand_class) {
  const std::span<const RankIndex> holders = demand.Holders(demand_class);
  return std::ranges::count_if(demand.Needers(demand_class), [&](RankIndex rank) {
    return !std::ranges::binary_search(holders, rank);
  });
}

}  // namespace

void PhaseBuilder::AddFlow(RankIndex from, RankIndex to, std::int64_t bytes,
                           std::int64_t operations, std::int32_t hop) {
  if (from == to || bytes == 0) return;
  const std::uint64_t key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32U) |
                            static_cast<std::uint32_t>(to);
  const auto [found, is_new] = flows_.try_emplace(key, TrafficFlow{from, to, 0, 0, hop});
  found->second.bytes += bytes;
  found->second.operations += operations;
}

TrafficCopy& PhaseBuilder::CopyOf(RankIndex rank) {
  const auto index = static_cast<std::size_t>(rank);
  while (copies_.size() <= index) {
    copies_.push_back({static_cast<RankIndex>(copies_.size()), 0, 0});
  }
  return copies_[index];
}

void PhaseBuilder::MoveInto(TrafficPhase& phase) {
  phase.flows.clear();
  for (const auto& [ends, flow] : flows_) phase.flows.push_back(flow);
  std::ranges::sort(phase.flows, [](const TrafficFlow& a, const TrafficFlow& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  std::erase_if(copies_, [](const TrafficCopy& copy) {
    return copy.packed_bytes == 0 && copy.unpacked_bytes == 0;
  });
  phase.copies = std::move(copies_);
  flows_.clear();
  copies_.clear();
}

void StagingMeter::AddPhase(const TrafficPhase& phase) {
  for (const TrafficCopy& copy : phase.copies) {
    AtLeast(copy.rank, copy.packed_bytes + copy.unpacked_bytes);
  }
}

void StagingMeter::AtLeast(RankIndex rank, std::int64_t bytes) {
  std::int64_t& peak = peaks_[static_cast<std::size_t>(rank)];
  peak = std::max(peak, bytes);
}

void CoverageBuilder::Omit(const PlacedTensors& placed, const std::string& reason) {
  for (const TensorIndex tensor : placed.tensors) {
    std::string& known = omitted_[static_cast<std::size_t>(tensor)];
    if (known.empty()) known = reason;
  }
}

void CoverageBuilder::Finish(const Demand& demand, Traffic& traffic) const {
  std::vector<std::int64_t> left_out(omitted_.size());  // bytes of the demand, per tensor
  traffic.class_bytes.clear();
  for (const DemandClass& demand_class : demand.classes) {
    const std::int64_t lackers = Lackers(demand, demand_class);
    std::int64_t bytes = demand_class.bytes;
    for (std::int64_t i = 0; i < demand_class.fragment_count; ++i) {
      const Fragment fragment = demand.fragments[demand_class.first_fragment + i];
      if (!IsOmitted(fragment.tensor)) continue;
      bytes -= fragment.bytes;
      left_out[static_cast<std::size_t>(fragment.tensor)] += fragment.bytes * lackers;
    }
    traffic.class_bytes.push_back(bytes);
  }
  std::map<std::string, Omission> by_reason;
  for (std::size_t tensor = 0; tensor < omitted_.size(); ++tensor) {
    if (omitted_[tensor].empty()) continue;
    const auto [found, is_new] = by_reason.try_emplace(
        omitted_[tensor], Omission{static_cast<TensorIndex>(tensor), 0, omitted_[tensor], 0});
    ++found->second.tensors;
    found->second.bytes += left_out[tensor];
  }
  traffic.omissions.clear();
  for (auto& [reason, omission] : by_reason) traffic.omissions.push_back(std::move(omission));
}

void SetTraffic(Traffic traffic, Plan& plan) {
  plan.profiles.clear();
  plan.columns.clear();
  plan.transfers.clear();
  plan.schedules.assign(plan.job.ranks.size(), {});
  plan.round_count = 0;
  plan.traffic = std::move(traffic);
}

Traffic OfStreams(std::vector<TrafficStream> streams, const StagingMeter& staging,
                  const CoverageBuilder& coverage, const Plan& plan) {
  Traffic traffic;
  traffic.staging_bytes = staging.peaks();
  traffic.streams = std::move(streams);
  coverage.Finish(plan.demand, traffic);
  return traffic;
}

Traffic OneStream(TrafficStream stream, const StagingMeter& staging,
                  const CoverageBuilder& coverage, const Plan& plan) {
  std::vector<TrafficStream> streams;
  streams.push_back(std::move(stream));
  return OfStreams(std::move(streams), staging, coverage, plan);
}

Traffic OnePhase(PhaseBuilder group, const CoverageBuilder& coverage, const Plan& plan) {
  TrafficPhase phase;
  group.MoveInto(phase);
  StagingMeter staging(plan.job.ranks.size());
  staging.AddPhase(phase);
  return OneStream({"all", {std::move(phase)}}, staging, coverage, plan);
}

ItemRange DivideRange(std::int64_t items, std::int64_t parts, std::int64_t part) {
  const std::int64_t each = items / parts;
  const std::int64_t larger = items % parts;
  const std::int64_t begin = part * each + std::min(part, larger);
  return {begin, begin + each + (part < larger ? 1 : 0)};
}

std::int64_t PartOf(std::int64_t item, std::int64_t items, std::int64_t parts) {
  const std::int64_t each = items / parts;
  const std::int64_t larger = items % parts;
  const std::int64_t in_larger = larger * (each + 1);
  return item < in_larger ? item / (each + 1) : larger + (item - in_larger) / each;
}

}  // namespace reshard
