// Flows in time: which run, how fast, and when the next ones end.
//
// Time is a whole number of nanoseconds, and a rate of 1 GB/s is 1 byte per nanosecond. A flow ends
// on the first whole nanosecond by which all its bytes have left (to a thousandth of one, so that
// rounding does not count), so ends that lie within a nanosecond become one event; no flow ends
// early, and each at most 1 ns late. Between events only differences of times enter a computation.
// Where many thousands of flows share resources, all their slightly different ends would each be an
// event that solves for all of them again: with an end tolerance, a flow may be late by that part
// of its life, so that such ends meet.
//
// Rates are max-min fair. When flows start or end, rates are solved again for a region only: at
// first the new flows and those held by a resource that gained or lost one, all others as they
// were. If the outcome leaves a flow without a bottleneck (a full resource on which none is
// faster), that flow joins the region, and so on. Having a bottleneck or running at the cap
// characterises the max-min fair rates (Bertsekas and Gallager, section 6.5.2), so the result is
// that of a solution for all.
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
class FlowEngine {
  // kLeaving: ended at this instant, and still listed by its resources.
  enum class Activity : std::uint8_t { kNone, kActive, kLeaving };

 public:
  // Keeps a reference to `table`, and to `observer` unless it is null. A flow is active at most
  // once at a time. `end_tolerance` is in [0, 1).
  FlowEngine(const FlowTable& table, std::vector<double> capacities,
             FlowObserver* observer = nullptr, double end_tolerance = 0);
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;

  void Start(FlowIndex flow, double bytes, Nanoseconds now);
  // Recomputes what starts and completions at `now` have touched.
  void UpdateRates(Nanoseconds now);
  // The instant of the next end, after UpdateRates; kNever if no flow ends.
  Nanoseconds NextEnd() const { return ends_.Earliest(); }
  // Ends the flows whose instant is `now` and appends them to `ended`, ascending.
  void Complete(Nanoseconds now, std::vector<FlowIndex>& ended);

  double Rate(FlowIndex flow) const { return rates_[static_cast<std::size_t>(flow)]; }
  // The instant an active flow ends if nothing changes; kNever if it does not.
  Nanoseconds EndOf(FlowIndex flow) const { return ends_[flow]; }
  bool IsActive(FlowIndex flow) const {
    return activity_[static_cast<std::size_t>(flow)] == Activity::kActive;
  }
  // Moves the active ones of `flows` `time` into the future, as if they had begun that much later.
  // They share nothing with other active flows.
  void Shift(std::span<const FlowIndex> flows, Nanoseconds time);

 private:
  void Touch(ResourceIndex resource);
  void DropEnded(ResourceIndex resource);
  bool InRegion(FlowIndex flow) const {
    return flow_visit_[static_cast<std::size_t>(flow)] == visit_;
  }
  void Join(FlowIndex flow);
  void ListRegionResources();
  void MeasureFree();
  bool WidenAt(ResourceIndex resource);
  bool WidenRegion();
  void SetRate(FlowIndex flow, double rate, Nanoseconds now);
  Nanoseconds WithinTolerance(FlowIndex flow, Nanoseconds end) const;

  const FlowTable& table_;
  const std::vector<double> capacities_;
  FlowObserver* const observer_;
  const double end_tolerance_;
  MaxMinSolver solver_;

  // Per flow.
  std::vector<double> rates_;
  std::vector<Nanoseconds> started_at_;
  std::vector<double> remaining_;    // bytes at set_at_
  std::vector<Nanoseconds> set_at_;  // when the rate was last set
  InstantTree ends_;                 // kNever: not active, or at rate 0
  std::vector<Activity> activity_;
  std::vector<ResourceIndex> bottlenecks_;

  // Per resource: flows in the order they started.
  std::vector<std::vector<FlowIndex>> members_;

  // Of this instant.
  std::vector<ResourceIndex> touched_;
  std::vector<std::uint8_t> touched_mark_;
  std::vector<FlowIndex> started_;
  std::vector<FlowIndex> leaving_;

  // The region being solved.
  std::uint64_t visit_ = 0;
  std::vector<std::uint64_t> flow_visit_;
  std::vector<std::uint64_t> resource_visit_;
  std::vector<FlowIndex> region_;
  std::size_t region_listed_ = 0;  // flows whose resources are listed
  std::vector<ResourceIndex> region_resources_;
  std::vector<double> free_;       // per resource
  std::vector<double> new_rates_;  // per flow; those of the region count
};

}  // namespace reshard
