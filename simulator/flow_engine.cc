#include "simulator/flow_engine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace reshard {
namespace {

// Ends that lie this little beyond a whole nanosecond count as on it: equal flows whose rates
// differ by rounding only must end together.
constexpr double kRoundingNs = 1e-3;
// Rates and capacities that differ by less than this part are equal: sums of some hundred rates
// round to a thousandth of it.
constexpr double kRounding = 1e-11;
// After so many differences added to a sum it is made anew: by then it is off by less than
// kRounding / 10, a part of 2^-53 each at most.
constexpr std::uint16_t kChangesPerSum = 4096;
// How many steps before its turn a line of memory is asked for.
constexpr std::size_t kAhead = 8;

void Fetch(const void* address) { __builtin_prefetch(address); }

}  // namespace

FlowEngine::FlowEngine(const FlowTable& table, std::vector<double> capacities,
                       FlowObserver* observer, double end_tolerance, Nanoseconds life_min)
    : table_(table),
      observer_(observer),
      end_tolerance_(end_tolerance),
      life_min_(life_min),
      flows_(table.size()),
      resources_(capacities.size()),
      positions_(table.AllShares().size()),
      ends_(table.size()) {
  for (std::size_t index = 0; index < flows_.size(); ++index) {
    const auto flow = static_cast<FlowIndex>(index);
    flows_[index].cap = table.Cap(flow);
    flows_[index].first_share = table.FirstShare(flow);
    flows_[index].share_count = static_cast<std::uint16_t>(table.Shares(flow).size());
  }
  for (std::size_t r = 0; r < capacities.size(); ++r) resources_[r].capacity = capacities[r];
}

void FlowEngine::Touch(ResourceIndex resource) {
  if (At(resource).touched) return;
  At(resource).touched = true;
  touched_.push_back(resource);
}

void FlowEngine::Place(ResourceState& state, std::size_t position, Member member) {
  state.members[position] = member;
  positions_[member.share] = static_cast<std::uint32_t>(position);
}

void FlowEngine::SwapMembers(ResourceState& state, std::size_t a, std::size_t b) {
  const Member first = state.members[a];
  Place(state, a, state.members[b]);
  Place(state, b, first);
}

// Lets `bottleneck`, or none, hold the flow instead of what holds it.
void FlowEngine::SetBottleneck(FlowIndex flow, ResourceIndex bottleneck) {
  FlowState& state = Of(flow);
  if (state.bottleneck == bottleneck) return;
  const std::span<const ResourceShare> shares = Shares(state);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    ResourceState& resource = At(shares[i].resource);
    const std::size_t position = positions_[state.first_share + i];
    if (shares[i].resource == state.bottleneck) {
      SwapMembers(resource, position, --resource.held);
    } else if (shares[i].resource == bottleneck) {
      SwapMembers(resource, position, resource.held++);
    }
  }
  state.bottleneck = bottleneck;
}

// Removes the member whose share is the `share`th of the table; it is not held there.
void FlowEngine::Leave(ResourceIndex resource, std::size_t share, double used) {
  ResourceState& state = At(resource);
  Place(state, positions_[share], state.members.back());
  state.members.pop_back();
  state.used -= used;
  ++state.changes;
  if (!state.members.empty()) return;
  state.used = 0;
  state.rate_max = 0;
  state.changes = 0;
}

void FlowEngine::SumUsed(ResourceState& state) const {
  state.used = 0;
  for (const Member& member : state.members) {
    state.used += table_.AllShares()[member.share].share * Of(member.flow).rate;
  }
  state.changes = 0;
}

void FlowEngine::Start(FlowIndex flow, double bytes, Nanoseconds now) {
  FlowState& state = Of(flow);
  state.started_at = now;
  state.remaining = bytes;
  state.rate = 0;
  state.set_at = now;
  state.active = true;
  started_.push_back(flow);
  const std::span<const ResourceShare> shares = Shares(state);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    std::vector<Member>& members = At(shares[i].resource).members;
    const std::size_t share = state.first_share + i;
    positions_[share] = static_cast<std::uint32_t>(members.size());
    members.push_back({flow, static_cast<std::uint32_t>(share)});
    Touch(shares[i].resource);
  }
}

void FlowEngine::TakeIn(FlowIndex flow) {
  FlowState& state = Of(flow);
  if (state.in_region != kOutside) return;
  state.in_region = static_cast<std::int32_t>(region_.size());
  region_.push_back(flow);
}

void FlowEngine::TakeInHeld(const ResourceState& state) {
  for (std::uint32_t i = 0; i < state.held; ++i) {
    if (i + kAhead < state.held) Fetch(&Of(state.members[i + kAhead].flow));
    TakeIn(state.members[i].flow);
  }
}

// Hands the region's flows from the `first` on to the solver, and sums up by resource.
void FlowEngine::ListRegion(std::size_t first) {
  for (std::size_t i = first; i < region_.size(); ++i) {
    if (i + 2 * kAhead < region_.size()) Fetch(Shares(Of(region_[i + 2 * kAhead])).data());
    if (i + kAhead < region_.size()) {
      for (const ResourceShare& use : Shares(Of(region_[i + kAhead]))) Fetch(&At(use.resource));
    }
    const FlowState& state = Of(region_[i]);
    solver_.AddFlow(state.cap);
    for (const ResourceShare& use : Shares(state)) {
      ResourceState& resource = At(use.resource);
      if (resource.in_region == kOutside) {
        resource.in_region = solver_.AddResource();
        region_resources_.push_back({.resource = use.resource});
      }
      RegionResource& listed = region_resources_[static_cast<std::size_t>(resource.in_region)];
      listed.measured = false;
      ++listed.flows;
      listed.held += state.bottleneck == use.resource ? 1 : 0;
      listed.used += use.share * state.rate;
      solver_.AddShare(resource.in_region, use.share);
    }
  }
}

// Says what flows outside the region leave of a resource, and how fast those are that it holds.
void FlowEngine::MeasureFree(std::int32_t index) {
  RegionResource& listed = region_resources_[static_cast<std::size_t>(index)];
  if (listed.measured) return;
  listed.measured = true;
  const ResourceState& state = At(listed.resource);
  const bool all = listed.flows == state.members.size();
  solver_.SetFree(index, state.capacity - (all ? 0 : state.used - listed.used),
                  listed.held < state.held ? state.rate_max : kUncapped);
}

// Takes in the flows held by a resource that is not full at the level of their rate, and those that
// are faster than the level where it is full.
bool FlowEngine::Join(ResourceIndex index, double level) {
  const RegionResource& listed = region_resources_[static_cast<std::size_t>(index)];
  ResourceState& state = At(listed.resource);
  if (listed.flows == state.members.size()) return false;
  const std::size_t before = region_.size();
  if (solver_.LeftAt(index, level) > kRounding * state.capacity) {
    TakeInHeld(state);
  } else if (level * (1 + kRounding) < state.rate_max) {
    double rate_max = 0;
    for (const Member& member : state.members) Fetch(&Of(member.flow));
    for (const Member& member : state.members) {
      const double rate = Of(member.flow).rate;
      rate_max = std::max(rate_max, rate);
      if (rate > level * (1 + kRounding)) TakeIn(member.flow);
    }
    if (state.held == 0) state.rate_max = rate_max;
  }
  if (region_.size() == before) return false;
  ListRegion(before);
  for (std::size_t flow = before; flow < region_.size(); ++flow) {
    for (const MaxMinSolver::Use& use : solver_.Uses(flow)) MeasureFree(use.resource);
  }
  return true;
}

// Sets the rate unless it is as it was, and returns it.
double FlowEngine::SetRate(FlowIndex flow, double rate, Nanoseconds now) {
  FlowState& state = Of(flow);
  const double before = state.rate;
  if (std::abs(rate - before) <= kRounding * before && ends_[flow] != kNever) return before;
  if (observer_ != nullptr && now > state.set_at) {
    observer_->OnFlow(flow, state.set_at, now, before);
  }
  state.remaining -= before * static_cast<double>(now - state.set_at);
  state.set_at = now;
  state.rate = rate;
  const double duration = std::max(state.remaining, 0.0) / rate;
  if (!(duration < static_cast<double>(kEndOfTime))) {
    ends_.Set(flow, kNever);
    return rate;
  }
  const auto whole = static_cast<Nanoseconds>(std::ceil(duration - kRoundingNs));
  ends_.Set(flow, WithinTolerance(state, now + std::max<Nanoseconds>(whole, 1)));
  return rate;
}

// `end`, or a later instant that other flows of as long a life also end on: the next multiple of
// the largest power of two that is within the tolerance.
Nanoseconds FlowEngine::WithinTolerance(const FlowState& state, Nanoseconds end) const {
  const Nanoseconds life = std::max(end - state.started_at, life_min_);
  const double tolerance = static_cast<double>(life) * end_tolerance_;
  if (tolerance < 2) return end;
  const auto grain =
      static_cast<Nanoseconds>(std::bit_floor(static_cast<std::uint64_t>(tolerance)));
  return (end + grain - 1) / grain * grain;
}

// Gives the region's flows the rates solved for and leaves it.
void FlowEngine::Settle(Nanoseconds now) {
  for (std::size_t i = 0; i < region_.size(); ++i) {
    if (i + kAhead < region_.size()) ends_.Fetch(region_[i + kAhead]);
    const FlowIndex flow = region_[i];
    const double rate = SetRate(flow, solver_.Rate(i), now);
    for (const MaxMinSolver::Use& use : solver_.Uses(i)) {
      RegionResource& listed = region_resources_[static_cast<std::size_t>(use.resource)];
      listed.used_next += use.share * rate;
    }
    const ResourceIndex bottleneck = solver_.Bottleneck(i);
    SetBottleneck(flow, bottleneck == kNoBottleneck
                            ? kNoBottleneck
                            : region_resources_[static_cast<std::size_t>(bottleneck)].resource);
    Of(flow).in_region = kOutside;
  }
  for (std::int32_t index = 0; index < std::ssize(region_resources_); ++index) {
    const RegionResource& listed = region_resources_[static_cast<std::size_t>(index)];
    ResourceState& state = At(listed.resource);
    state.in_region = kOutside;
    const bool all = listed.flows == state.members.size();
    if (solver_.HeldRate(index) != kUncapped) {
      state.rate_max = solver_.HeldRate(index);
    } else {
      const double fastest = solver_.FastestRate(index);
      state.rate_max = all ? fastest : std::max(state.rate_max, fastest);
    }
    if (all) {
      state.used = listed.used_next;
      state.changes = 0;
      continue;
    }
    state.used = state.used - listed.used + listed.used_next;
    if (++state.changes >= kChangesPerSum) SumUsed(state);
  }
}

void FlowEngine::UpdateRates(Nanoseconds now) {
  region_.clear();
  region_resources_.clear();
  solver_.Clear();
  for (const ResourceIndex resource : touched_) {
    At(resource).touched = false;
    TakeInHeld(At(resource));
  }
  touched_.clear();
  for (const FlowIndex flow : started_) TakeIn(flow);
  started_.clear();
  if (region_.empty()) return;
  ListRegion(0);
  for (std::int32_t index = 0; index < std::ssize(region_resources_); ++index) MeasureFree(index);
  solver_.Solve(this);
  Settle(now);
}

void FlowEngine::Complete(Nanoseconds now, std::vector<FlowIndex>& ended) {
  while (NextEnd() == now) {
    const FlowIndex flow = ends_.First();
    FlowState& state = Of(flow);
    ends_.Set(flow, kNever);
    if (observer_ != nullptr) observer_->OnFlow(flow, state.set_at, now, state.rate);
    SetBottleneck(flow, kNoBottleneck);
    state.active = false;
    ended.push_back(flow);
    const std::span<const ResourceShare> shares = Shares(state);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      Leave(shares[i].resource, state.first_share + i, shares[i].share * state.rate);
      Touch(shares[i].resource);
    }
  }
}

void FlowEngine::Shift(std::span<const FlowIndex> flows, Nanoseconds time) {
  for (const FlowIndex flow : flows) {
    FlowState& state = Of(flow);
    if (!state.active) continue;
    state.set_at += time;
    state.started_at += time;
    if (ends_[flow] != kNever) ends_.Set(flow, ends_[flow] + time);
  }
}

}  // namespace reshard
