#include "compiler/planning/least_arborescence.h"

#include <limits>

namespace reshard {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Each node's cheapest incoming edge; empty if some node has none.
std::vector<std::size_t> CheapestParents(const std::vector<std::vector<double>>& cost) {
  std::vector<std::size_t> parent(cost.size(), 0);
  for (std::size_t v = 1; v < cost.size(); ++v) {
    double best = kNone;
    for (std::size_t u = 0; u < cost.size(); ++u) {
      if (u == v || cost[u][v] >= best) continue;
      best = cost[u][v];
      parent[v] = u;
    }
    if (best == kNone) return {};
  }
  return parent;
}

// Nodes of some cycle of `parent`; empty if there is none.
std::vector<std::size_t> CycleIn(const std::vector<std::size_t>& parent) {
  std::vector<std::size_t> seen_from(parent.size(), 0);
  for (std::size_t start = 1; start < parent.size(); ++start) {
    std::size_t v = start;
    while (v != 0 && seen_from[v] == 0) {
      seen_from[v] = start;
      v = parent[v];
    }
    if (v == 0 || seen_from[v] != start) continue;
    std::vector<std::size_t> cycle{v};
    for (std::size_t u = parent[v]; u != v; u = parent[u]) cycle.push_back(u);
    return cycle;
  }
  return {};
}

}  // namespace

std::vector<std::size_t> LeastArborescence(const std::vector<std::vector<double>>& cost) {
  std::vector<std::size_t> parent = CheapestParents(cost);
  if (parent.empty()) return {};
  const std::vector<std::size_t> cycle = CycleIn(parent);
  if (cycle.empty()) return parent;
  // The cycle becomes one node, the last. An edge into it costs what it adds where it replaces the
  // edge of the cycle into the same node.
  std::vector<std::size_t> shrunk(cost.size(), 0);
  std::vector<bool> in_cycle(cost.size(), false);
  for (const std::size_t v : cycle) in_cycle[v] = true;
  std::size_t count = 0;
  for (std::size_t v = 0; v < cost.size(); ++v) {
    if (!in_cycle[v]) shrunk[v] = count++;
  }
  const std::size_t whole = count;
  std::vector<std::vector<double>> smaller(count + 1, std::vector<double>(count + 1, kNone));
  std::vector<std::size_t> enters(count, 0);  // node of the cycle that an edge from there enters
  std::vector<std::size_t> leaves(count, 0);  // node of the cycle that an edge to there leaves
  for (std::size_t u = 0; u < cost.size(); ++u) {
    for (std::size_t v = 1; v < cost.size(); ++v) {
      if (u == v || cost[u][v] == kNone || (in_cycle[u] && in_cycle[v])) continue;
      const std::size_t from = in_cycle[u] ? whole : shrunk[u];
      const std::size_t to = in_cycle[v] ? whole : shrunk[v];
      const double added = in_cycle[v] ? cost[u][v] - cost[parent[v]][v] : cost[u][v];
      if (added >= smaller[from][to]) continue;
      smaller[from][to] = added;
      if (in_cycle[v]) enters[from] = v;
      if (in_cycle[u]) leaves[to] = u;
    }
  }
  const std::vector<std::size_t> outer = LeastArborescence(smaller);
  if (outer.empty()) return {};
  std::vector<std::size_t> node_of(count, 0);
  for (std::size_t v = 0; v < cost.size(); ++v) {
    if (!in_cycle[v]) node_of[shrunk[v]] = v;
  }
  for (std::size_t v = 1; v < cost.size(); ++v) {
    if (in_cycle[v]) continue;
    const std::size_t u = outer[shrunk[v]];
    parent[v] = u == whole ? leaves[shrunk[v]] : node_of[u];
  }
  const std::size_t from = outer[whole];
  parent[enters[from]] = node_of[from];
  return parent;
}

}  // namespace reshard
