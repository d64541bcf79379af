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

// Flows and what is free for them, both numbered from 0: a few out of very many lie close together
// in memory here.
struct MaxMinProblem {
  struct Flow {
    double cap = kUncapped;
    std::size_t first_share = 0;  // into `shares`; they end where those of the next flow begin
  };
  std::vector<Flow> flows;
  std::vector<ResourceShare> shares;
  std::vector<double> free;  // per resource

  void Clear() {
    flows.clear();
    shares.clear();
    free.clear();
  }
  std::span<const ResourceShare> Shares(std::size_t flow) const {
    const std::size_t end = flow + 1 < flows.size() ? flows[flow + 1].first_share : shares.size();
    return std::span(shares).subspan(flows[flow].first_share, end - flows[flow].first_share);
  }
};

// Solves one problem after another without allocating.
class MaxMinSolver {
 public:
  // A flow without resources and cap gets an infinite rate.
  void Solve(const MaxMinProblem& problem);

  // Of the last problem.
  double Rate(std::size_t flow) const { return rates_[flow]; }
  ResourceIndex Bottleneck(std::size_t flow) const { return bottlenecks_[flow]; }
  // What is left of a resource.
  double Left(std::size_t resource) const { return fills_[resource].left; }
  // The flows that use a resource, ascending.
  std::span<const std::int32_t> Users(std::size_t resource) const {
    return std::span(users_).subspan(fills_[resource].first_user, fills_[resource].users);
  }

 private:
  struct Fill {
    double left = 0;             // of what was free, not used by frozen flows
    double share = 0;            // sum over rising flows
    std::int32_t rising = 0;     // flows not frozen yet
    std::uint32_t users = 0;     // flows in all
    std::size_t first_user = 0;  // into users_
    double FairRate() const;
  };
  using Candidate = std::pair<double, ResourceIndex>;  // (fair rate, resource)

  void ListUsers(const MaxMinProblem& problem);
  void ListCapped(const MaxMinProblem& problem);
  void Freeze(const MaxMinProblem& problem, std::size_t flow, double rate,
              ResourceIndex bottleneck);
  void FreezeCapped(const MaxMinProblem& problem, double limit);

  std::vector<double> rates_;               // per flow
  std::vector<ResourceIndex> bottlenecks_;  // per flow
  std::vector<Fill> fills_;                 // per resource
  std::vector<std::int32_t> users_;         // resource by resource
  std::vector<Candidate> heap_;             // least fair rate first
  std::vector<std::int32_t> capped_;        // flows with a cap, ascending by it
  std::size_t next_capped_ = 0;
  std::size_t rising_ = 0;  // flows not frozen yet
};

// Rates of all flows of `table`, resources numbered 0 .. capacities.size() - 1.
std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities);

}  // namespace reshard
