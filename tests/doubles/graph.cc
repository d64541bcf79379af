#include "tests/doubles/graph.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

namespace reshard::doubles {
namespace {

class GraphRun final : public Operation {
 public:
  GraphRun(std::shared_ptr<const GraphNodes> nodes,
           std::map<NodeIndex, std::shared_ptr<Marker>> records, std::uint64_t seed)
      : nodes_(std::move(nodes)), records_(std::move(records)), random_(seed) {}

  void Begin() override {
    std::vector<std::vector<NodeIndex>> dependents(nodes_->size());
    std::vector<std::size_t> missing(nodes_->size());
    std::vector<NodeIndex> ready;
    for (std::size_t n = 0; n < nodes_->size(); ++n) {
      const std::set<NodeIndex>& dependencies = (*nodes_)[n].dependencies;
      missing[n] = dependencies.size();
      for (const NodeIndex dependency : dependencies) {
        dependents[static_cast<std::size_t>(dependency)].push_back(static_cast<NodeIndex>(n));
      }
      if (dependencies.empty()) ready.push_back(static_cast<NodeIndex>(n));
    }
    std::vector<std::pair<NodeIndex, std::shared_ptr<Operation>>> running;
    while (!ready.empty() || !running.empty()) {
      if (!ready.empty()) {
        const std::size_t drawn = random_() % ready.size();
        const NodeIndex node = ready[drawn];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(drawn));
        running.emplace_back(node, (*nodes_)[static_cast<std::size_t>(node)].make());
        running.back().second->Begin();
        if (const auto record = records_.find(node); record != records_.end()) {
          Reach(*record->second);
        }
      }
      std::unique_lock lock(TheProgress().mutex);
      const auto is_done = [](const auto& run) { return run.second->IsDone(); };
      if (ready.empty()) {
        TheProgress().changed.wait(
            lock, [&] { return std::any_of(running.begin(), running.end(), is_done); });
      }
      std::erase_if(running, [&](const auto& run) {
        if (!is_done(run)) return false;
        for (const NodeIndex next : dependents[static_cast<std::size_t>(run.first)]) {
          if (--missing[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
        }
        return true;
      });
    }
  }

 private:
  std::shared_ptr<const GraphNodes> nodes_;
  std::map<NodeIndex, std::shared_ptr<Marker>> records_;
  std::mt19937_64 random_;
};

}  // namespace

bool Capture::IsUnjoined(const std::set<NodeIndex>& tail) const {
  std::set<NodeIndex> ends;
  for (std::size_t n = 0; n < nodes.size(); ++n) ends.insert(static_cast<NodeIndex>(n));
  for (const GraphNode& node : nodes) {
    for (const NodeIndex dependency : node.dependencies) ends.erase(dependency);
  }
  return !std::includes(tail.begin(), tail.end(), ends.begin(), ends.end());
}

std::shared_ptr<Operation> RunGraph(std::shared_ptr<const GraphNodes> nodes,
                                    std::map<NodeIndex, std::shared_ptr<Marker>> records,
                                    std::uint64_t seed) {
  return std::make_shared<GraphRun>(std::move(nodes), std::move(records), seed);
}

}  // namespace reshard::doubles
