#include "simulator/max_min.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace reshard {

namespace {

constexpr std::int32_t kNoPlace = -1;

}  // namespace

double MaxMinSolver::Fill::Due() const {
  return rising == 0 ? outside_rate : std::min(std::max(free - frozen, 0.0) / share, outside_rate);
}

void MaxMinSolver::Clear() {
  flows_.clear();
  uses_.clear();
  fills_.clear();
  heap_.clear();
  place_.clear();
  rising_ = 0;
  capped_.clear();
  solving_ = false;
}

ResourceIndex MaxMinSolver::AddResource() {
  fills_.emplace_back();
  place_.push_back(kNoPlace);
  return static_cast<ResourceIndex>(fills_.size()) - 1;
}

void MaxMinSolver::AddFlow(double cap) {
  flows_.push_back({.cap = cap, .first_use = uses_.size()});
  ++rising_;
  if (cap == kUncapped) return;
  capped_.emplace_back(cap, static_cast<std::int32_t>(flows_.size()) - 1);
  if (solving_) std::push_heap(capped_.begin(), capped_.end(), std::greater<>());
}

void MaxMinSolver::AddShare(ResourceIndex resource, double share) {
  Fill& fill = Of(resource);
  uses_.push_back({resource, static_cast<std::int32_t>(flows_.size()) - 1, share, fill.first_use});
  if (solving_) {
    fill.first_use = static_cast<std::int32_t>(uses_.size()) - 1;
  } else {
    ++fill.users;
  }
  fill.share += share;
  ++fill.rising;
}

void MaxMinSolver::SetFree(ResourceIndex resource, double free, double outside_rate) {
  Fill& fill = Of(resource);
  fill.free = free;
  fill.outside_rate = outside_rate;
  const double due = fill.Due();
  const std::int32_t place = place_[static_cast<std::size_t>(resource)];
  if (place != kNoPlace) {  // a later level than its place says is looked at then
    const auto at = static_cast<std::size_t>(place);
    if (due < heap_[at].first) Rise(at, {due, resource});
  } else if (due != kUncapped) {
    heap_.emplace_back();
    Rise(heap_.size() - 1, {due, resource});
  }
}

double MaxMinSolver::LeftAt(ResourceIndex resource, double level) const {
  const Fill& fill = Of(resource);
  const double left = fill.free - fill.frozen;
  return fill.rising == 0 ? left : left - fill.share * level;
}

// Close together in memory: a resource of thousands of flows asks for them one after another.
void MaxMinSolver::ListUsers() {
  std::size_t next = 0;
  for (Fill& fill : fills_) {
    fill.first_user = next;
    next += fill.users;
    fill.users = 0;
  }
  users_.resize(next);
  for (const Use& use : uses_) {
    Fill& fill = Of(use.resource);
    users_[fill.first_user + fill.users++] = use.flow;
  }
}

void MaxMinSolver::Freeze(std::size_t flow, double rate, ResourceIndex bottleneck) {
  flows_[flow].rate = rate;
  flows_[flow].bottleneck = bottleneck;
  --rising_;
  for (const Use& use : Uses(flow)) {
    Fill& fill = Of(use.resource);
    fill.frozen += use.share * rate;
    fill.share -= use.share;
    fill.fastest = std::max(fill.fastest, rate);
    --fill.rising;
  }
}

// Freezes the rising flows whose cap is at most `limit`, at their cap, and returns whether there
// are any.
bool MaxMinSolver::FreezeCapped(double limit) {
  bool any = false;
  while (rising_ > 0 && !capped_.empty() && capped_.front().first <= limit) {
    const auto flow = static_cast<std::size_t>(capped_.front().second);
    std::pop_heap(capped_.begin(), capped_.end(), std::greater<>());
    capped_.pop_back();
    if (flows_[flow].rate != kRising) continue;
    Freeze(flow, flows_[flow].cap, kNoBottleneck);
    any = true;
  }
  return any;
}

// Freezes the rising flows of a resource; what outside flows it holds stay.
void MaxMinSolver::Hold(ResourceIndex resource, double level) {
  Of(resource).outside_rate = kUncapped;
  if (Of(resource).rising == 0) return;
  Of(resource).held_rate = level;
  const Fill& fill = Of(resource);
  for (std::uint32_t i = 0; i < fill.users; ++i) {
    const auto flow = static_cast<std::size_t>(users_[fill.first_user + i]);
    if (flows_[flow].rate == kRising) Freeze(flow, level, resource);
  }
  for (std::int32_t at = Of(resource).first_use; at >= 0;) {
    const Use& use = uses_[static_cast<std::size_t>(at)];
    const auto flow = static_cast<std::size_t>(use.flow);
    if (flows_[flow].rate == kRising) Freeze(flow, level, resource);
    at = use.next;
  }
}

void MaxMinSolver::Place(std::size_t at, Candidate candidate) {
  heap_[at] = candidate;
  place_[static_cast<std::size_t>(candidate.second)] = static_cast<std::int32_t>(at);
}

// Places a candidate at `at`, or where it belongs above it.
void MaxMinSolver::Rise(std::size_t at, Candidate candidate) {
  while (at > 0 && candidate < heap_[(at - 1) / 2]) {
    Place(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  Place(at, candidate);
}

// Places a candidate at `at`, or where it belongs below it.
void MaxMinSolver::Sink(std::size_t at, Candidate candidate) {
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < candidate)) break;
    Place(at, heap_[child]);
    at = child;
  }
  Place(at, candidate);
}

void MaxMinSolver::DropFirst() {
  place_[static_cast<std::size_t>(heap_.front().second)] = kNoPlace;
  const Candidate last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) Sink(0, last);
}

// With no flow rising, only resources that hold outside flows are of interest.
void MaxMinSolver::DropIdle() {
  std::size_t kept = 0;
  for (const Candidate& candidate : heap_) {
    if (Of(candidate.second).outside_rate == kUncapped) {
      place_[static_cast<std::size_t>(candidate.second)] = kNoPlace;
    } else {
      heap_[kept++] = {Of(candidate.second).outside_rate, candidate.second};
    }
  }
  heap_.resize(kept);
  for (std::size_t at = kept; at-- > 0;) Sink(at, heap_[at]);
}

void MaxMinSolver::Solve(OutsideFlows* outside) {
  std::make_heap(capped_.begin(), capped_.end(), std::greater<>());
  ListUsers();
  solving_ = true;
  double level = 0;  // rate all rising flows have reached; guards against rounding going back
  bool idle = false;
  while (!heap_.empty()) {
    if (rising_ == 0 && !idle) DropIdle();
    idle = rising_ == 0;
    if (heap_.empty()) break;
    const auto [queued, resource] = heap_.front();
    const double due = Of(resource).Due();
    if (due == kUncapped) {
      DropFirst();
    } else if (due > queued) {  // flows frozen since have left it more: look again later
      Sink(0, {due, resource});
    } else if (!FreezeCapped(due)) {
      level = std::max(level, due);
      if (outside == nullptr || !outside->Join(resource, level)) Hold(resource, level);
    }
  }
  FreezeCapped(kUncapped);
  for (Flow& flow : flows_) {  // those that use nothing
    if (flow.rate == kRising) flow.rate = kUncapped;
  }
}

std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities) {
  MaxMinSolver solver;
  for (std::size_t resource = 0; resource < capacities.size(); ++resource) solver.AddResource();
  for (std::size_t index = 0; index < table.size(); ++index) {
    const auto flow = static_cast<FlowIndex>(index);
    solver.AddFlow(table.Cap(flow));
    for (const ResourceShare& use : table.Shares(flow)) solver.AddShare(use.resource, use.share);
  }
  for (std::size_t resource = 0; resource < capacities.size(); ++resource) {
    solver.SetFree(static_cast<ResourceIndex>(resource), capacities[resource]);
  }
  solver.Solve();
  std::vector<double> rates;
  for (std::size_t flow = 0; flow < table.size(); ++flow) rates.push_back(solver.Rate(flow));
  return rates;
}

}  // namespace reshard
