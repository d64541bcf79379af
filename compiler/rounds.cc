#include "compiler/rounds.h"

#include <algorithm>
#include <numeric>

namespace reshard {
namespace {

// Beyond this many phases their rounds cost more than forwarding what does not lie together.
constexpr std::size_t kMaxPhases = 4;
// The smallest groups that together are less than this share of all bytes are small.
constexpr double kSmallShare = 0.05;

}  // namespace

Phases MakePhases(const Deliveries& deliveries) {
  const std::vector<DeliveryGroup>& groups = deliveries.groups;
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].bytes > groups[b].bytes; });
  // Largest group first. What is large goes into the first phase whoever receives it: phases run
  // one after another, and each must fill all NICs by itself. What is small goes into the first
  // phase where nobody receives yet what it brings.
  std::int64_t total = 0;
  for (const DeliveryGroup& group : groups) total += group.bytes;
  std::vector<std::vector<RankIndex>> receivers;
  std::vector<std::int64_t> bytes;
  std::vector<std::size_t> phase_of(groups.size(), 0);
  std::int64_t left = total;  // of this group and all smaller ones
  for (const std::size_t g : order) {
    const std::vector<RankIndex> mine = groups[g].Receivers();
    const bool small = static_cast<double>(left) < kSmallShare * static_cast<double>(total);
    left -= groups[g].bytes;
    std::size_t p = 0;
    for (; p < receivers.size(); ++p) {
      std::vector<RankIndex> both;
      std::ranges::set_intersection(receivers[p], mine, std::back_inserter(both));
      if (both.empty() || !small || p + 1 == kMaxPhases) break;
    }
    if (p == receivers.size()) {
      receivers.emplace_back();
      bytes.push_back(0);
    }
    std::vector<RankIndex> joined;
    std::ranges::set_union(receivers[p], mine, std::back_inserter(joined));
    receivers[p] = std::move(joined);
    bytes[p] += groups[g].bytes;
    phase_of[g] = p;
  }
  std::vector<std::size_t> ascending(bytes.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] < bytes[b]; });
  std::vector<std::int32_t> position(bytes.size());
  Phases phases;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    position[ascending[i]] = static_cast<std::int32_t>(i);
    phases.bytes.push_back(bytes[ascending[i]]);
  }
  // Copies within ranks need rounds to happen in, too.
  if (phases.bytes.empty()) phases.bytes.push_back(0);
  for (const std::size_t p : phase_of) phases.of_group.push_back(position[p]);
  return phases;
}

std::vector<std::uint32_t> RoundShape::Weights() const {
  const double parts = full + (halvings > 0 ? 1 : 0);
  double share = 4294967295.0 / parts;
  std::vector<std::uint32_t> weights(static_cast<std::size_t>(full),
                                     static_cast<std::uint32_t>(share));
  for (std::int32_t h = 0; h < halvings; ++h) {
    share /= 2;
    weights.push_back(static_cast<std::uint32_t>(share));
  }
  if (halvings > 0) weights.push_back(static_cast<std::uint32_t>(share));
  return weights;
}

}  // namespace reshard
