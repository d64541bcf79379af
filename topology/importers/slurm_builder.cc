#include "topology/importers/slurm_builder.h"

#include <algorithm>
#include <utility>

#include "topology/cluster_builder.h"
#include "topology/importers/host_list.h"
#include "topology/importers/quotation.h"

namespace reshard {
namespace {

constexpr int kDeepestSwitches = 32;
// Names in all lists together, and nodes below all switches together: bounds time and memory.
constexpr std::int64_t kMostListed = kMaxGpus;
constexpr std::int64_t kMostBelow = std::int64_t{1} << 24;

}  // namespace

Result<std::vector<std::int32_t>> SlurmBuilder::AddNodes(std::string_view list,
                                                         const std::string& place) {
  const Result<std::vector<std::string>> names = ExpandHostList(list, place, kMostListed - listed_);
  if (!names) return tl::unexpected(names.error());
  listed_ += static_cast<std::int64_t>(names->size());
  std::vector<std::int32_t> nodes;
  for (const std::string& name : *names) {
    const auto next = static_cast<std::int32_t>(topology_.nodes.size());
    const auto [entry, is_new] = node_indices_.try_emplace(name, next);
    if (is_new) topology_.nodes.push_back(name);
    nodes.push_back(entry->second);
  }
  std::sort(nodes.begin(), nodes.end());
  if (std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end()) {
    return InputError(place, "a node stands twice in " + Quoted(list));
  }
  return nodes;
}

Result<void> SlurmBuilder::AddBlock(std::string_view name, std::string_view nodes,
                                    const std::string& place) {
  const std::size_t known = topology_.nodes.size();
  Result<std::vector<std::int32_t>> indices = AddNodes(nodes, place);
  if (!indices) return tl::unexpected(indices.error());
  if (std::cmp_less(indices->front(), known)) {
    return InputError(place,
                      Quoted(topology_.nodes[indices->front()]) + " is in another block too");
  }
  topology_.blocks.push_back({std::string(name), *std::move(indices)});
  return {};
}

Result<void> SlurmBuilder::AddSwitch(std::string_view name, std::string_view nodes,
                                     std::string_view switches, const std::string& place) {
  PendingSwitch pending{std::string(name), place, {}, {}, PendingSwitch::State::kOpen};
  if (!switch_indices_.try_emplace(pending.name, switches_.size()).second) {
    return InputError(place, "switch " + Quoted(name) + " stands twice");
  }
  if (!nodes.empty()) {
    Result<std::vector<std::int32_t>> indices = AddNodes(nodes, place);
    if (!indices) return tl::unexpected(indices.error());
    pending.nodes = *std::move(indices);
  }
  if (!switches.empty()) {
    Result<std::vector<std::string>> names = ExpandHostList(switches, place, kMostListed - listed_);
    if (!names) return tl::unexpected(names.error());
    listed_ += static_cast<std::int64_t>(names->size());
    pending.children = *std::move(names);
  }
  if (nodes.empty() && switches.empty()) {
    return InputError(place, "switch " + Quoted(name) + " has neither nodes nor switches");
  }
  switches_.push_back(std::move(pending));
  return {};
}

// Adds to a switch the nodes of those below it.
Result<void> SlurmBuilder::Resolve(std::size_t index, int depth) {
  PendingSwitch& one = switches_[index];
  if (one.state == PendingSwitch::State::kDone) return {};
  if (one.state == PendingSwitch::State::kInProgress || depth > kDeepestSwitches) {
    return InputError(one.place,
                      "switch " + Quoted(one.name) +
                          (depth > kDeepestSwitches ? " lies too deep" : " lies below itself"));
  }
  one.state = PendingSwitch::State::kInProgress;
  for (const std::string& child : one.children) {
    const auto entry = switch_indices_.find(child);
    if (entry == switch_indices_.end()) {
      return InputError(one.place, "there is no switch " + Quoted(child));
    }
    if (Result<void> resolved = Resolve(entry->second, depth + 1); !resolved) return resolved;
    const std::vector<std::int32_t>& below = switches_[entry->second].nodes;
    listed_ += static_cast<std::int64_t>(below.size());
    if (listed_ > kMostBelow) return InputError(one.place, "too many nodes below switches");
    one.nodes.insert(one.nodes.end(), below.begin(), below.end());
  }
  std::sort(one.nodes.begin(), one.nodes.end());
  one.nodes.erase(std::unique(one.nodes.begin(), one.nodes.end()), one.nodes.end());
  one.state = PendingSwitch::State::kDone;
  return {};
}

Result<SlurmTopology> SlurmBuilder::Finish() {
  if (!topology_.blocks.empty() && !switches_.empty()) {
    return InputError(topology_.source, "has both blocks and switches", "keep one of them");
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    if (Result<void> resolved = Resolve(i, 1); !resolved) return tl::unexpected(resolved.error());
  }
  for (PendingSwitch& one : switches_) {
    topology_.switches.push_back({std::move(one.name), std::move(one.nodes)});
  }
  if (topology_.nodes.empty()) return InputError(topology_.source, "names no node");
  return std::move(topology_);
}

}  // namespace reshard
