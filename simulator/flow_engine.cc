#include "simulator/flow_engine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// Ends that lie this little beyond a whole nanosecond count as on it: equal flows whose rates
// differ by rounding only must end together.
constexpr double kRoundingNs = 1e-3;
// Rates and capacities that differ by less than this part are equal: sums of some hundred rates
// round to a thousandth of it.
constexpr double kRounding = 1e-11;
// A region that has grown this often takes in all flows it meets: far-reaching changes are cheaper
// to solve at once.
constexpr int kCarefulRounds = 6;

}  // namespace

FlowEngine::FlowEngine(const FlowTable& table, std::vector<double> capacities,
                       FlowObserver* observer, double end_tolerance)
    : table_(table),
      capacities_(std::move(capacities)),
      observer_(observer),
      end_tolerance_(end_tolerance),
      solver_(table, capacities_.size()),
      rates_(table.size()),
      started_at_(table.size()),
      remaining_(table.size()),
      set_at_(table.size()),
      ends_(table.size()),
      activity_(table.size()),
      bottlenecks_(table.size(), kNoBottleneck),
      members_(capacities_.size()),
      touched_mark_(capacities_.size()),
      flow_visit_(table.size()),
      resource_visit_(capacities_.size()),
      free_(capacities_.size()),
      new_rates_(table.size()) {}

void FlowEngine::Touch(ResourceIndex resource) {
  if (touched_mark_[At(resource)] != 0) return;
  touched_mark_[At(resource)] = 1;
  touched_.push_back(resource);
}

void FlowEngine::DropEnded(ResourceIndex resource) {
  std::erase_if(members_[At(resource)], [&](FlowIndex flow) { return !IsActive(flow); });
}

void FlowEngine::Start(FlowIndex flow, double bytes, Nanoseconds now) {
  const std::span<const ResourceShare> shares = table_.Shares(flow);
  if (activity_[At(flow)] == Activity::kLeaving) {
    for (const ResourceShare& use : shares) std::erase(members_[At(use.resource)], flow);
  }
  started_at_[At(flow)] = now;
  remaining_[At(flow)] = bytes;
  rates_[At(flow)] = 0;
  set_at_[At(flow)] = now;
  activity_[At(flow)] = Activity::kActive;
  started_.push_back(flow);
  for (const ResourceShare& use : shares) {
    members_[At(use.resource)].push_back(flow);
    Touch(use.resource);
  }
}

void FlowEngine::Join(FlowIndex flow) {
  if (InRegion(flow)) return;
  flow_visit_[At(flow)] = visit_;
  new_rates_[At(flow)] = rates_[At(flow)];  // until solved
  region_.push_back(flow);
}

void FlowEngine::ListRegionResources() {
  for (; region_listed_ < region_.size(); ++region_listed_) {
    for (const ResourceShare& use : table_.Shares(region_[region_listed_])) {
      if (resource_visit_[At(use.resource)] == visit_) continue;
      resource_visit_[At(use.resource)] = visit_;
      region_resources_.push_back(use.resource);
    }
  }
}

// What flows outside the region leave of its resources.
void FlowEngine::MeasureFree() {
  for (const ResourceIndex resource : region_resources_) {
    double used = 0;
    for (const FlowIndex flow : members_[At(resource)]) {
      if (InRegion(flow)) continue;
      for (const ResourceShare& use : table_.Shares(flow)) {
        if (use.resource == resource) used += use.share * rates_[At(flow)];
      }
    }
    free_[At(resource)] = capacities_[At(resource)] - used;
  }
}

// Takes in the flows on `resource` that it no longer holds, or that are faster than one it holds.
bool FlowEngine::WidenAt(ResourceIndex resource) {
  const auto rate = [&](FlowIndex flow) {
    return InRegion(flow) ? new_rates_[At(flow)] : rates_[At(flow)];
  };
  const std::vector<FlowIndex>& members = members_[At(resource)];
  double fastest = 0;
  bool outsiders = false;
  for (const FlowIndex flow : members) {
    fastest = std::max(fastest, rate(flow));
    outsiders = outsiders || !InRegion(flow);
  }
  if (!outsiders) return false;
  const bool full = solver_.Left(resource) <= kRounding * capacities_[At(resource)];
  double slowest_held = kUncapped;
  const std::size_t before = region_.size();
  for (const FlowIndex flow : members) {
    if (bottlenecks_[At(flow)] != resource) continue;
    slowest_held = std::min(slowest_held, rate(flow));
    if (!full || rate(flow) < fastest * (1 - kRounding)) Join(flow);
  }
  for (const FlowIndex flow : members) {
    if (rate(flow) > slowest_held * (1 + kRounding)) Join(flow);
  }
  return region_.size() > before;
}

bool FlowEngine::WidenRegion() {
  bool widened = false;
  for (const ResourceIndex resource : region_resources_) widened |= WidenAt(resource);
  return widened;
}

void FlowEngine::SetRate(FlowIndex flow, double rate, Nanoseconds now) {
  const double before = rates_[At(flow)];
  if (std::abs(rate - before) <= kRounding * before && ends_[flow] != kNever) return;
  if (observer_ != nullptr && now > set_at_[At(flow)]) {
    observer_->OnFlow(flow, set_at_[At(flow)], now, before);
  }
  remaining_[At(flow)] -= before * static_cast<double>(now - set_at_[At(flow)]);
  set_at_[At(flow)] = now;
  rates_[At(flow)] = rate;
  const double duration = std::max(remaining_[At(flow)], 0.0) / rate;
  if (!(duration < static_cast<double>(kEndOfTime))) return ends_.Set(flow, kNever);
  const auto whole = static_cast<Nanoseconds>(std::ceil(duration - kRoundingNs));
  ends_.Set(flow, WithinTolerance(flow, now + std::max<Nanoseconds>(whole, 1)));
}

// `end`, or a later instant that other flows of as long a life also end on: the next multiple of
// the largest power of two that is within the tolerance.
Nanoseconds FlowEngine::WithinTolerance(FlowIndex flow, Nanoseconds end) const {
  const double tolerance = static_cast<double>(end - started_at_[At(flow)]) * end_tolerance_;
  if (tolerance < 2) return end;
  const auto grain =
      static_cast<Nanoseconds>(std::bit_floor(static_cast<std::uint64_t>(tolerance)));
  return (end + grain - 1) / grain * grain;
}

void FlowEngine::UpdateRates(Nanoseconds now) {
  ++visit_;
  region_.clear();
  region_listed_ = 0;
  region_resources_.clear();
  for (const ResourceIndex resource : touched_) {
    touched_mark_[At(resource)] = 0;
    DropEnded(resource);
    for (const FlowIndex flow : members_[At(resource)]) {
      if (bottlenecks_[At(flow)] == resource) Join(flow);
    }
  }
  touched_.clear();
  for (const FlowIndex flow : started_) Join(flow);
  started_.clear();
  for (const FlowIndex flow : leaving_) {
    if (activity_[At(flow)] == Activity::kLeaving) activity_[At(flow)] = Activity::kNone;
  }
  leaving_.clear();
  if (region_.empty()) return;

  for (int round = 0;; ++round) {
    ListRegionResources();
    MeasureFree();
    solver_.Solve(region_, region_resources_, free_, members_, new_rates_, bottlenecks_);
    if (!WidenRegion()) break;
    if (round < kCarefulRounds) continue;
    ListRegionResources();
    for (const ResourceIndex resource : region_resources_) {
      for (const FlowIndex flow : members_[At(resource)]) Join(flow);
    }
  }
  for (const FlowIndex flow : region_) SetRate(flow, new_rates_[At(flow)], now);
}

void FlowEngine::Complete(Nanoseconds now, std::vector<FlowIndex>& ended) {
  while (NextEnd() == now) {
    const FlowIndex flow = ends_.First();
    ends_.Set(flow, kNever);
    if (observer_ != nullptr) observer_->OnFlow(flow, set_at_[At(flow)], now, rates_[At(flow)]);
    activity_[At(flow)] = Activity::kLeaving;
    bottlenecks_[At(flow)] = kNoBottleneck;
    leaving_.push_back(flow);
    ended.push_back(flow);
    for (const ResourceShare& use : table_.Shares(flow)) Touch(use.resource);
  }
}

void FlowEngine::Shift(std::span<const FlowIndex> flows, Nanoseconds time) {
  for (const FlowIndex flow : flows) {
    if (!IsActive(flow)) continue;
    set_at_[At(flow)] += time;
    started_at_[At(flow)] += time;
    if (ends_[flow] != kNever) ends_.Set(flow, ends_[flow] + time);
  }
}

}  // namespace reshard
