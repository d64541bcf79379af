// Max-min fair rates: no flow's rate can be raised without lowering that of a flow no faster.
//
// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates rise
// together until a resource is full or a flow reaches its cap; the flows it holds keep that rate,
// the others go on. A resource's fair rate is what is left of it over the shares of its rising
// flows. It never falls while flows freeze at lower rates, so resources leave a heap in order of
// it.
//
// A change among very many flows touches few of them. The others, outside, keep their rates; what
// they use is not free. Whether they may is seen when the level of the rising rates comes to where
// it matters, as all that is slower is settled then: see OutsideFlows.
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

// Flows that have rates and keep them, unless they join those that are solved for.
class OutsideFlows {
 public:
  virtual ~OutsideFlows() = default;
  // Called when the level has come to where `resource` is full, or to the outside rate said of it.
  // Adds flows faster than `level` whose rates are no longer fair to the solver, with what is free
  // for them on each resource, and returns whether there are any.
  virtual bool Join(ResourceIndex resource, double level) = 0;
};

// Solves one problem after another without allocating. Flows and resources are numbered from 0 in
// the order they were added: a few out of very many lie close together in memory here.
class MaxMinSolver {
 public:
  // A share of a flow.
  struct Use {
    ResourceIndex resource = 0;
    std::int32_t flow = 0;
    double share = 1;
    std::int32_t next = -1;  // of the same resource's, if it was added while solving
  };

  void Clear();
  ResourceIndex AddResource();
  // Shares are of resources that were added.
  void AddFlow(double cap);
  void AddShare(ResourceIndex resource, double share);  // of the flow added last
  // After what uses it was added: what is free of a resource for flows added, and how fast the
  // outside flows are that it held until now; kUncapped if there are none.
  void SetFree(ResourceIndex resource, double free, double outside_rate = kUncapped);
  // A flow without resources and cap gets an infinite rate.
  void Solve(OutsideFlows* outside = nullptr);

  std::span<const Use> Uses(std::size_t flow) const {
    const std::size_t end = flow + 1 < flows_.size() ? flows_[flow + 1].first_use : uses_.size();
    return std::span(uses_).subspan(flows_[flow].first_use, end - flows_[flow].first_use);
  }
  double Rate(std::size_t flow) const { return flows_[flow].rate; }
  ResourceIndex Bottleneck(std::size_t flow) const { return flows_[flow].bottleneck; }
  // What is left of a resource with its rising flows at `level`.
  double LeftAt(ResourceIndex resource, double level) const;
  // The rate of the flows that a resource holds; kUncapped if it holds none.
  double HeldRate(ResourceIndex resource) const { return Of(resource).held_rate; }
  // The rate of the fastest flow that uses a resource; 0 if none does.
  double FastestRate(ResourceIndex resource) const { return Of(resource).fastest; }

 private:
  static constexpr double kRising = -1;  // rate of a flow that is not frozen yet
  struct Flow {
    double cap = kUncapped;
    std::size_t first_use = 0;  // they end where those of the next flow begin
    double rate = kRising;
    ResourceIndex bottleneck = kNoBottleneck;
  };
  struct Fill {
    double free = 0;
    double frozen = 0;                // used by frozen flows
    double share = 0;                 // sum over rising flows
    double outside_rate = kUncapped;  // of those it holds
    double held_rate = kUncapped;     // of the flows it holds
    double fastest = 0;               // of the frozen flows
    std::uint32_t rising = 0;         // flows not frozen yet
    std::int32_t first_use = -1;      // the last one added while solving
    std::uint32_t users = 0;          // added before
    std::size_t first_user = 0;       // of these, into users_
    // The level at which something happens here; kUncapped if nothing does any more.
    double Due() const;
  };
  using Candidate = std::pair<double, ResourceIndex>;  // (level it is due at, resource)
  using Capped = std::pair<double, std::int32_t>;      // (cap, flow)

  const Fill& Of(ResourceIndex resource) const {
    return fills_[static_cast<std::size_t>(resource)];
  }
  Fill& Of(ResourceIndex resource) { return fills_[static_cast<std::size_t>(resource)]; }
  void ListUsers();
  void Freeze(std::size_t flow, double rate, ResourceIndex bottleneck);
  bool FreezeCapped(double limit);
  void Hold(ResourceIndex resource, double level);
  void Place(std::size_t at, Candidate candidate);
  void Rise(std::size_t at, Candidate candidate);
  void Sink(std::size_t at, Candidate candidate);
  void DropFirst();
  void DropIdle();

  std::vector<Flow> flows_;
  std::vector<Use> uses_;  // flow by flow
  std::vector<Fill> fills_;
  std::vector<std::int32_t> users_;  // resource by resource, flows added before solving
  std::vector<Candidate> heap_;      // the earliest first; children of i: 2i + 1, 2i + 2
  std::vector<std::int32_t> place_;  // per resource: in the heap; -1 if it is not
  std::size_t rising_ = 0;           // flows not frozen yet
  std::vector<Capped> capped_;       // a heap, the least cap first
  bool solving_ = false;             // capped_ is in order then
};

// Rates of all flows of `table`, resources numbered 0 .. capacities.size() - 1.
std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities);

}  // namespace reshard
