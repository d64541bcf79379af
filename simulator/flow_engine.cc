#include "simulator/flow_engine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// Ends that lie this little beyond a whole nanosecond count as on it: equal flows whose rates
// differ by rounding only must end together.
constexpr double kRoundingNs = 1e-3;

}  // namespace

FlowEngine::FlowEngine(const FlowTable& table, std::vector<double> capacities)
    : table_(table),
      capacities_(std::move(capacities)),
      solver_(table, capacities_),
      rates_(table.size()),
      remaining_(table.size()),
      set_at_(table.size()),
      activity_(table.size()),
      start_order_(table.size()),
      component_(table.size(), -1),
      flow_visit_(table.size()),
      members_(capacities_.size()),
      resource_visit_(capacities_.size()),
      touched_mark_(capacities_.size()) {}

void FlowEngine::Touch(ResourceIndex resource) {
  if (touched_mark_[At(resource)] != 0) return;
  touched_mark_[At(resource)] = 1;
  touched_.push_back(resource);
}

void FlowEngine::Start(FlowIndex flow, double bytes, Nanoseconds now) {
  const std::span<const ResourceShare> shares = table_.Shares(flow);
  if (activity_[At(flow)] == Activity::kLeaving) {
    for (const ResourceShare& use : shares) std::erase(members_[At(use.resource)], flow);
  }
  remaining_[At(flow)] = bytes;
  rates_[At(flow)] = 0;
  set_at_[At(flow)] = now;
  activity_[At(flow)] = Activity::kActive;
  component_[At(flow)] = -1;
  start_order_[At(flow)] = start_count_++;
  for (const ResourceShare& use : shares) {
    members_[At(use.resource)].push_back(flow);
    Touch(use.resource);
  }
  if (shares.empty()) unbounded_.push_back(flow);
}

void FlowEngine::Settle(FlowIndex flow, Nanoseconds now) {
  const auto elapsed = static_cast<double>(now - set_at_[At(flow)]);
  if (elapsed > 0) remaining_[At(flow)] -= rates_[At(flow)] * elapsed;
  set_at_[At(flow)] = now;
}

Nanoseconds FlowEngine::EndOf(FlowIndex flow) const {
  const double duration = std::max(remaining_[At(flow)], 0.0) / rates_[At(flow)];
  if (!(duration < static_cast<double>(kEndOfTime))) return kNever;
  const auto whole = static_cast<Nanoseconds>(std::ceil(duration - kRoundingNs));
  return set_at_[At(flow)] + std::max<Nanoseconds>(whole, 1);
}

// Gathers the component of `seed` in found_flows_ and found_resources_.
void FlowEngine::Collect(ResourceIndex seed) {
  found_flows_.clear();
  found_resources_.clear();
  resource_visit_[At(seed)] = visit_;
  found_resources_.push_back(seed);
  for (std::size_t next = 0; next < found_resources_.size(); ++next) {
    std::vector<FlowIndex>& members = members_[At(found_resources_[next])];
    std::size_t kept = 0;
    for (const FlowIndex flow : members) {
      if (activity_[At(flow)] != Activity::kActive) continue;
      members[kept++] = flow;
      if (flow_visit_[At(flow)] == visit_) continue;
      flow_visit_[At(flow)] = visit_;
      found_flows_.push_back(flow);
      for (const ResourceShare& use : table_.Shares(flow)) {
        if (resource_visit_[At(use.resource)] == visit_) continue;
        resource_visit_[At(use.resource)] = visit_;
        found_resources_.push_back(use.resource);
      }
    }
    members.resize(kept);
  }
}

FlowEngine::ComponentIndex FlowEngine::NewComponent() {
  ComponentIndex index = 0;
  if (free_components_.empty()) {
    index = static_cast<ComponentIndex>(components_.size());
    components_.emplace_back();
  } else {
    index = free_components_.back();
    free_components_.pop_back();
  }
  if (!spare_lists_.empty()) {
    components_[At(index)].flows.swap(spare_lists_.back());
    spare_lists_.pop_back();
  }
  return index;
}

void FlowEngine::Discard(ComponentIndex component) {
  if (component < 0 || !components_[At(component)].valid) return;
  components_[At(component)].valid = false;
  spare_lists_.push_back(std::move(components_[At(component)].flows));
}

void FlowEngine::UpdateRates(Nanoseconds now) {
  ++visit_;
  for (const ResourceIndex seed : touched_) {
    touched_mark_[At(seed)] = 0;
    if (resource_visit_[At(seed)] == visit_) continue;
    Collect(seed);
    if (found_flows_.empty()) continue;
    for (const FlowIndex flow : found_flows_) {
      Settle(flow, now);
      Discard(component_[At(flow)]);
    }
    solver_.Solve(found_flows_, found_resources_, members_, rates_);
    const ComponentIndex index = NewComponent();
    Component& component = components_[At(index)];
    component.flows.swap(found_flows_);
    component.valid = true;
    component.next_end = kNever;
    for (const FlowIndex flow : component.flows) {
      component_[At(flow)] = index;
      component.next_end = std::min(component.next_end, EndOf(flow));
    }
    ends_.emplace(component.next_end, index);
  }
  touched_.clear();
  for (const FlowIndex flow : unbounded_) {
    rates_[At(flow)] = table_.Cap(flow);
    const ComponentIndex index = NewComponent();
    component_[At(flow)] = index;
    components_[At(index)] = {{flow}, EndOf(flow), true};
    ends_.emplace(components_[At(index)].next_end, index);
  }
  unbounded_.clear();
  for (const FlowIndex flow : leaving_) {
    if (activity_[At(flow)] == Activity::kLeaving) activity_[At(flow)] = Activity::kNone;
  }
  leaving_.clear();
}

Nanoseconds FlowEngine::NextEnd() {
  while (!ends_.empty() && !components_[At(ends_.top().second)].valid) {
    free_components_.push_back(ends_.top().second);
    ends_.pop();
  }
  return ends_.empty() ? kNever : ends_.top().first;
}

void FlowEngine::Complete(Nanoseconds now, std::vector<FlowIndex>& ended) {
  while (NextEnd() == now) {
    const ComponentIndex index = ends_.top().second;
    ends_.pop();
    Component& component = components_[At(index)];
    for (const FlowIndex flow : component.flows) {
      if (EndOf(flow) != now) continue;
      activity_[At(flow)] = Activity::kLeaving;
      leaving_.push_back(flow);
      ended.push_back(flow);
      for (const ResourceShare& use : table_.Shares(flow)) Touch(use.resource);
    }
    // Flows that stay are reached from the resources just touched, and find a new component.
    for (const FlowIndex flow : component.flows) component_[At(flow)] = -1;
    Discard(index);
    free_components_.push_back(index);
  }
}

std::vector<FlowIndex> FlowEngine::Active() const {
  std::vector<FlowIndex> flows;
  for (std::size_t flow = 0; flow < activity_.size(); ++flow) {
    if (activity_[flow] == Activity::kActive) flows.push_back(static_cast<FlowIndex>(flow));
  }
  std::sort(flows.begin(), flows.end(),
            [&](FlowIndex a, FlowIndex b) { return start_order_[At(a)] < start_order_[At(b)]; });
  return flows;
}

}  // namespace reshard
