#include "simulator/max_min.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace reshard {
namespace {

constexpr double kRising = -1;  // rate of a flow that is not frozen yet

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

MaxMinSolver::MaxMinSolver(const FlowTable& table, std::size_t resources)
    : table_(table), fills_(resources) {
  heap_.reserve(resources);
}

double MaxMinSolver::FairRate(ResourceIndex resource) const {
  const Fill& fill = fills_[At(resource)];
  return std::max(fill.left, 0.0) / fill.share;
}

void MaxMinSolver::Freeze(FlowIndex flow, double rate, std::span<double> rates) {
  rates[At(flow)] = rate;
  for (const ResourceShare& use : table_.Shares(flow)) {
    Fill& fill = fills_[At(use.resource)];
    fill.left -= use.share * rate;
    fill.share -= use.share;
    --fill.rising;
  }
}

// Freezes the rising flows whose cap is at most `limit`, at their cap.
void MaxMinSolver::FreezeCapped(double limit, std::span<double> rates,
                                std::span<ResourceIndex> bottlenecks) {
  for (; next_capped_ < capped_.size(); ++next_capped_) {
    const FlowIndex flow = capped_[next_capped_];
    if (rates[At(flow)] != kRising) continue;
    if (table_.Cap(flow) > limit) return;
    Freeze(flow, table_.Cap(flow), rates);
    bottlenecks[At(flow)] = kNoBottleneck;
  }
}

void MaxMinSolver::Solve(std::span<const FlowIndex> flows, std::span<const ResourceIndex> resources,
                         std::span<const double> free,
                         std::span<const std::vector<FlowIndex>> members, std::span<double> rates,
                         std::span<ResourceIndex> bottlenecks) {
  for (const ResourceIndex resource : resources) {
    fills_[At(resource)] = {free[At(resource)], 0, 0};
  }
  capped_.clear();
  next_capped_ = 0;
  for (const FlowIndex flow : flows) {
    rates[At(flow)] = kRising;
    for (const ResourceShare& use : table_.Shares(flow)) {
      Fill& fill = fills_[At(use.resource)];
      fill.share += use.share;
      ++fill.rising;
    }
    if (table_.Cap(flow) != kUncapped) capped_.push_back(flow);
  }
  std::sort(capped_.begin(), capped_.end(), [&](FlowIndex a, FlowIndex b) {
    return std::pair(table_.Cap(a), a) < std::pair(table_.Cap(b), b);
  });

  heap_.clear();
  for (const ResourceIndex resource : resources) {
    if (fills_[At(resource)].rising > 0) heap_.emplace_back(FairRate(resource), resource);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  double level = 0;  // rate all rising flows have reached; guards against rounding going back
  while (!heap_.empty()) {
    const ResourceIndex resource = heap_.front().second;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    if (fills_[At(resource)].rising == 0) {
      heap_.pop_back();
      continue;
    }
    const double fair = FairRate(resource);
    if (fair > heap_.back().first) {  // flows frozen since have left it more: look again later
      heap_.back().first = fair;
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      continue;
    }
    const std::size_t capped_before = next_capped_;
    FreezeCapped(fair, rates, bottlenecks);
    if (next_capped_ != capped_before) {
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      continue;
    }
    heap_.pop_back();
    level = std::max(level, fair);
    for (const FlowIndex flow : members[At(resource)]) {
      if (rates[At(flow)] != kRising) continue;
      Freeze(flow, level, rates);
      bottlenecks[At(flow)] = resource;
    }
  }
  FreezeCapped(kUncapped, rates, bottlenecks);
  for (const FlowIndex flow : flows) {  // those that use nothing
    if (rates[At(flow)] != kRising) continue;
    rates[At(flow)] = kUncapped;
    bottlenecks[At(flow)] = kNoBottleneck;
  }
}

std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities) {
  std::vector<FlowIndex> flows(table.size());
  std::iota(flows.begin(), flows.end(), 0);
  std::vector<ResourceIndex> resources(capacities.size());
  std::iota(resources.begin(), resources.end(), 0);
  std::vector<std::vector<FlowIndex>> members(capacities.size());
  for (const FlowIndex flow : flows) {
    for (const ResourceShare& use : table.Shares(flow)) members[At(use.resource)].push_back(flow);
  }
  std::vector<double> rates(table.size());
  std::vector<ResourceIndex> bottlenecks(table.size());
  MaxMinSolver(table, capacities.size())
      .Solve(flows, resources, capacities, members, rates, bottlenecks);
  return rates;
}

}  // namespace reshard
