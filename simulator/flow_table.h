// Flows and what they use of which resources: the input of max-min fair sharing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace reshard {

using ResourceIndex = std::int32_t;
using FlowIndex = std::int32_t;

inline constexpr double kUncapped = std::numeric_limits<double>::infinity();

// One byte of a flow costs `share` bytes of `resource`: 1 on a wire it takes alone, a fraction
// where its bytes are split over several, n where the flow stands for n equal flows over one
// resource.
struct ResourceShare {
  ResourceIndex resource = 0;
  double share = 1;
  bool operator==(const ResourceShare&) const = default;
};

// Flows in the order they were added. A flow names each resource at most once, with a share > 0.
class FlowTable {
 public:
  // `cap`: the rate the flow never exceeds, in units of the capacities; kUncapped if none.
  FlowIndex Add(std::span<const ResourceShare> shares, double cap) {
    shares_.insert(shares_.end(), shares.begin(), shares.end());
    ends_.push_back(shares_.size());
    caps_.push_back(cap);
    return static_cast<FlowIndex>(caps_.size()) - 1;
  }
  std::span<const ResourceShare> Shares(FlowIndex flow) const {
    const auto index = static_cast<std::size_t>(flow);
    const std::size_t first = index == 0 ? 0 : ends_[index - 1];
    return std::span(shares_).subspan(first, ends_[index] - first);
  }
  // Of all flows, back to back in their order, and where in them those of `flow` begin.
  std::span<const ResourceShare> AllShares() const { return shares_; }
  std::size_t FirstShare(FlowIndex flow) const {
    return flow == 0 ? 0 : ends_[static_cast<std::size_t>(flow) - 1];
  }
  double Cap(FlowIndex flow) const { return caps_[static_cast<std::size_t>(flow)]; }
  std::size_t size() const { return caps_.size(); }

 private:
  std::vector<ResourceShare> shares_;
  std::vector<std::size_t> ends_;  // per flow, into shares_
  std::vector<double> caps_;
};

}  // namespace reshard
