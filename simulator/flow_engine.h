// Flows in time: which run, how fast, and when the next ones end.
//
// Time is a whole number of nanoseconds, and a rate of 1 GB/s is 1 byte per nanosecond. A flow ends
// on the first whole nanosecond by which all its bytes have left (to a thousandth of one, so that
// rounding does not count), so ends that lie within a nanosecond become one event; no flow ends
// early, and each at most 1 ns late. Between events only differences of times enter a computation.
// Where many thousands of flows share resources, all their slightly different ends would each be an
// event that solves for all of them again: with an end tolerance, a flow may be late by that part
// of its life, or of a least life if its own is shorter, so that such ends meet.
//
// Rates are max-min fair. When flows start or end, rates are solved again for a region only: at
// first the new flows and those held by a resource that gained or lost one, all others as they
// were. While the region's rates rise together, a flow outside joins it when the level shows that
// it would be left without a bottleneck (a full resource on which none is faster): on a full
// resource those that are faster join, of one that is not full those it held. Having a bottleneck
// or running at the cap characterises the max-min fair rates (Bertsekas and Gallager,
// section 6.5.2), so the result is that of a solution for all. None joins that is slower than the
// level: what was settled below it stays.
//
// What the others use of a resource, and how fast those it holds are, is kept up to date for each
// resource: a region costs what its flows cost, however many others its resources carry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/flow_table.h"
#include "simulator/instant_tree.h"
#include "simulator/max_min.h"

namespace reshard {

// No simulation is allowed beyond this (36 years); later ends count as never.
inline constexpr Nanoseconds kEndOfTime = Nanoseconds{1} << 60;

// Told of what flowed: stretches of equal rate, of each flow back to back from its start to its
// end.
class FlowObserver {
 public:
  virtual ~FlowObserver() = default;
  virtual void OnFlow(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps) = 0;
};

// The calls of one instant come in this order: Complete, any number of Start, UpdateRates.
class FlowEngine : private OutsideFlows {
 public:
  // Keeps a reference to `table`, and to `observer` unless it is null. A flow is active at most
  // once at a time. `end_tolerance` is in [0, 1).
  FlowEngine(const FlowTable& table, std::vector<double> capacities,
             FlowObserver* observer = nullptr, double end_tolerance = 0, Nanoseconds life_min = 0);
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;

  void Start(FlowIndex flow, double bytes, Nanoseconds now);
  // Recomputes what starts and completions at `now` have touched.
  void UpdateRates(Nanoseconds now);
  // The instant of the next end, after UpdateRates; kNever if no flow ends.
  Nanoseconds NextEnd() const { return ends_.Earliest(); }
  // Ends the flows whose instant is `now` and appends them to `ended`, ascending.
  void Complete(Nanoseconds now, std::vector<FlowIndex>& ended);

  double Rate(FlowIndex flow) const { return Of(flow).rate; }
  // The instant an active flow ends if nothing changes; kNever if it does not.
  Nanoseconds EndOf(FlowIndex flow) const { return ends_[flow]; }
  bool IsActive(FlowIndex flow) const { return Of(flow).active; }
  // Moves the active ones of `flows` `time` into the future, as if they had begun that much later.
  // They share nothing with other active flows.
  void Shift(std::span<const FlowIndex> flows, Nanoseconds time);

 private:
  static constexpr std::int32_t kOutside = -1;  // not in the region being solved

  // A flow is all in one line of the cache: which flows an event is about, chance decides.
  struct alignas(64) FlowState {
    double rate = 0;
    double remaining = 0;    // bytes at set_at
    Nanoseconds set_at = 0;  // when the rate was last set
    Nanoseconds started_at = 0;
    double cap = kUncapped;
    std::size_t first_share = 0;  // of all the table's shares
    std::int32_t in_region = kOutside;
    ResourceIndex bottleneck = kNoBottleneck;
    std::uint16_t share_count = 0;
    bool active = false;
  };
  // An active flow on a resource, and which of all shares says how much of it.
  struct Member {
    FlowIndex flow = 0;
    std::uint32_t share = 0;
  };
  struct alignas(64) ResourceState {
    double capacity = 0;
    double used = 0;              // by its members
    double rate_max = 0;          // no member is faster; the rate of those it holds, if it does
    std::vector<Member> members;  // those it holds first
    std::uint32_t held = 0;       // how many these are
    std::int32_t in_region = kOutside;
    std::uint16_t changes = 0;  // of `used`, since it was summed up
    bool touched = false;
  };
  // A resource of the region, by its number there.
  struct RegionResource {
    ResourceIndex resource = 0;
    std::uint32_t flows = 0;  // of the region that use it
    std::uint32_t held = 0;   // of these, how many it held
    double used = 0;          // by these, until now
    double used_next = 0;     // by these, from now on
    bool measured = false;    // what is free of it is what the solver was told
  };

  FlowState& Of(FlowIndex flow) { return flows_[static_cast<std::size_t>(flow)]; }
  const FlowState& Of(FlowIndex flow) const { return flows_[static_cast<std::size_t>(flow)]; }
  ResourceState& At(ResourceIndex resource) {
    return resources_[static_cast<std::size_t>(resource)];
  }
  std::span<const ResourceShare> Shares(const FlowState& state) const {
    return table_.AllShares().subspan(state.first_share, state.share_count);
  }
  void Touch(ResourceIndex resource);
  void Place(ResourceState& state, std::size_t position, Member member);
  void SwapMembers(ResourceState& state, std::size_t a, std::size_t b);
  void SetBottleneck(FlowIndex flow, ResourceIndex bottleneck);
  void Leave(ResourceIndex resource, std::size_t share, double used);
  void SumUsed(ResourceState& state) const;

  void TakeIn(FlowIndex flow);
  void TakeInHeld(const ResourceState& state);
  bool Join(ResourceIndex index, double level) override;
  void ListRegion(std::size_t first);
  void MeasureFree(std::int32_t index);
  void Settle(Nanoseconds now);
  double SetRate(FlowIndex flow, double rate, Nanoseconds now);
  Nanoseconds WithinTolerance(const FlowState& state, Nanoseconds end) const;

  const FlowTable& table_;
  FlowObserver* const observer_;
  const double end_tolerance_;
  const Nanoseconds life_min_;
  std::vector<FlowState> flows_;
  std::vector<ResourceState> resources_;
  std::vector<std::uint32_t> positions_;  // of each share of the table, among its members
  InstantTree ends_;                      // per flow; kNever: not active, or at rate 0

  // Of this instant.
  std::vector<ResourceIndex> touched_;
  std::vector<FlowIndex> started_;

  // The region being solved.
  std::vector<FlowIndex> region_;
  std::vector<RegionResource> region_resources_;
  MaxMinSolver solver_;  // flow i is region_[i], resource i is that of region_resources_[i]
};

}  // namespace reshard
