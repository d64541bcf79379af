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
  // The rate of the flows that a resource holds; kUncapped if it holds none.
  double HeldRate(std::size_t resource) const { return fills_[resource].held_rate; }
  // The rate of the fastest flow that uses a resource; 0 if none does.
  double FastestRate(std::size_t resource) const { return fills_[resource].fastest; }

 private:
  struct Fill {
    double left = 0;               // of what was free, not used by frozen flows
    double share = 0;              // sum over rising flows
    double held_rate = kUncapped;  // of the flows it holds
    double fastest = 0;            // of the frozen flows
    std::uint32_t rising = 0;      // flows not frozen yet
    std::uint32_t users = 0;       // flows in all
    std::size_t first_user = 0;    // into users_
    double FairRate() const;
  };
  using Candidate = std::pair<double, ResourceIndex>;  // (fair rate, resource)

  void ListUsers(const MaxMinProblem& problem);
  std::span<const std::int32_t> Users(const Fill& fill) const {
    return std::span(users_).subspan(fill.first_user, fill.users);
  }
  void ListCapped(const MaxMinProblem& problem);
  void Freeze(const MaxMinProblem& problem, std::size_t flow, double rate,
              ResourceIndex bottleneck);
  void FreezeCapped(const MaxMinProblem& problem, double limit);
  void DropFirst();
  void SinkFirst();

  std::vector<double> rates_;               // per flow
  std::vector<ResourceIndex> bottlenecks_;  // per flow
  std::vector<Fill> fills_;                 // per resource
  std::vector<std::int32_t> users_;         // resource by resource
  std::vector<Candidate> heap_;             // least fair rate first; children of i: 2i + 1, 2i + 2
  std::vector<std::int32_t> capped_;        // flows with a cap, ascending by it
  std::size_t next_capped_ = 0;
  std::size_t rising_ = 0;  // flows not frozen yet
};

// Rates of all flows of `table`, resources numbered 0 .. capacities.size() - 1.
std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities);

}  // namespace reshard
