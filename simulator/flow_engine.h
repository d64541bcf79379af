// Flows in time: which run, how fast, and when the next ones end.
//
// Time is a whole number of nanoseconds, and a rate of 1 GB/s is 1 byte per nanosecond. A flow ends
// on the first whole nanosecond by which all its bytes have left (to a thousandth of one, so that
// rounding does not count), so ends that lie within a nanosecond become one event; no flow ends
// early, and each at most 1 ns late. Between events only differences of times enter a computation:
// what happens does not depend on when it begins, bit for bit.
//
// Rates are max-min fair and change only for flows that share, through any chain of flows and
// resources, with one that started or ended: a component. A component knows its next end, so that
// an event costs the components it touches and nothing else.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "simulator/flow_table.h"
#include "simulator/max_min.h"

namespace reshard {

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
// No simulation is allowed beyond this (36 years); later ends count as never.
inline constexpr Nanoseconds kEndOfTime = Nanoseconds{1} << 60;

// The calls of one instant come in this order: Complete, any number of Start, UpdateRates.
class FlowEngine {
 public:
  // Keeps a reference to `table`. A flow is active at most once at a time.
  FlowEngine(const FlowTable& table, std::vector<double> capacities);
  FlowEngine(const FlowEngine&) = delete;
  FlowEngine& operator=(const FlowEngine&) = delete;

  void Start(FlowIndex flow, double bytes, Nanoseconds now);
  // Recomputes what starts and completions at `now` have touched.
  void UpdateRates(Nanoseconds now);
  // The instant of the next end, after UpdateRates; kNever if no flow ends.
  Nanoseconds NextEnd();
  // Ends the flows whose instant is `now` and appends them to `ended`.
  void Complete(Nanoseconds now, std::vector<FlowIndex>& ended);

  double Rate(FlowIndex flow) const { return rates_[static_cast<std::size_t>(flow)]; }
  // Bytes a flow still had when its rate was last set, and that instant.
  double Remaining(FlowIndex flow) const { return remaining_[static_cast<std::size_t>(flow)]; }
  Nanoseconds RateSetAt(FlowIndex flow) const { return set_at_[static_cast<std::size_t>(flow)]; }
  // Active flows in the order they started; together with the above, the whole state.
  std::vector<FlowIndex> Active() const;

  std::span<const double> capacities() const { return capacities_; }

 private:
  using ComponentIndex = std::int32_t;
  struct Component {
    std::vector<FlowIndex> flows;
    Nanoseconds next_end = kNever;
    bool valid = false;
  };
  // kLeaving: ended at this instant, and still listed by its resources.
  enum class Activity : std::uint8_t { kNone, kActive, kLeaving };
  using End = std::pair<Nanoseconds, ComponentIndex>;

  void Touch(ResourceIndex resource);
  void Collect(ResourceIndex seed);
  ComponentIndex NewComponent();
  void Discard(ComponentIndex component);
  void Settle(FlowIndex flow, Nanoseconds now);
  Nanoseconds EndOf(FlowIndex flow) const;

  const FlowTable& table_;
  const std::vector<double> capacities_;
  MaxMinSolver solver_;

  // Per flow.
  std::vector<double> rates_;
  std::vector<double> remaining_;
  std::vector<Nanoseconds> set_at_;
  std::vector<Activity> activity_;
  std::vector<std::int64_t> start_order_;
  std::vector<ComponentIndex> component_;  // -1: none yet
  std::vector<std::uint64_t> flow_visit_;

  // Per resource: flows in the order they started; ended ones are dropped when next walked.
  std::vector<std::vector<FlowIndex>> members_;
  std::vector<std::uint64_t> resource_visit_;
  std::vector<std::uint8_t> touched_mark_;
  std::vector<ResourceIndex> touched_;
  std::uint64_t visit_ = 0;

  std::vector<FlowIndex> leaving_;
  std::int64_t start_count_ = 0;
  std::vector<FlowIndex> unbounded_;  // started now, use no resource
  std::vector<Component> components_;
  std::vector<ComponentIndex> free_components_;
  std::vector<std::vector<FlowIndex>> spare_lists_;  // memory of discarded components
  // Discarded components free their index only when their entry leaves the heap.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;

  // Scratch of Collect.
  std::vector<FlowIndex> found_flows_;
  std::vector<ResourceIndex> found_resources_;
};

}  // namespace reshard
