// Max-min fair rates: no flow's rate can be raised without lowering that of a flow no faster.
//
// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates rise
// together until a resource is full or a flow reaches its cap; the flows it holds keep that rate,
// the others go on. A resource's fair rate is what is left of it over the shares of its rising
// flows. It never falls while flows freeze at lower rates, so resources leave a heap in order of
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/flow_table.h"

namespace reshard {

// What holds a flow that no resource holds: its cap, or nothing.
inline constexpr ResourceIndex kNoBottleneck = -1;

// Solves one set of flows after another without allocating. Keeps a reference to `table`.
class MaxMinSolver {
 public:
  MaxMinSolver(const FlowTable& table, std::size_t resources);

  // Writes rates[f] and bottlenecks[f], the resource that holds it, for each f of `flows`, and
  // nothing else. `resources` are all that these flows use; for each r of them, free[r] is what
  // flows outside the set leave of it, and members[r] contains the flows of the set that use it
  // (others are ignored; their rates[f] must not be negative). A flow without resources and cap
  // gets an infinite rate.
  void Solve(std::span<const FlowIndex> flows, std::span<const ResourceIndex> resources,
             std::span<const double> free, std::span<const std::vector<FlowIndex>> members,
             std::span<double> rates, std::span<ResourceIndex> bottlenecks);

  // What the last solution leaves of a resource it was about.
  double Left(ResourceIndex resource) const {
    return fills_[static_cast<std::size_t>(resource)].left;
  }

 private:
  struct Fill {
    double left = 0;          // of what was free, not used by frozen flows
    double share = 0;         // sum over rising flows
    std::int32_t rising = 0;  // flows not frozen yet
  };
  using Candidate = std::pair<double, ResourceIndex>;  // (fair rate, resource)

  double FairRate(ResourceIndex resource) const;
  void Freeze(FlowIndex flow, double rate, std::span<double> rates);
  void FreezeCapped(double limit, std::span<double> rates, std::span<ResourceIndex> bottlenecks);

  const FlowTable& table_;
  std::vector<Fill> fills_;        // per resource
  std::vector<Candidate> heap_;    // least fair rate first
  std::vector<FlowIndex> capped_;  // flows with a cap, ascending by it
  std::size_t next_capped_ = 0;
};

// Rates of all flows of `table`, resources numbered 0 .. capacities.size() - 1.
std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities);

}  // namespace reshard
