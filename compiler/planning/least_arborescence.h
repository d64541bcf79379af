// The cheapest tree from a root to all nodes of a directed graph (Chu-Liu 1965, Edmonds 1967).
#pragma once

#include <cstddef>
#include <vector>

namespace reshard {

// `cost[u][v]` of the edge u -> v, infinite where there is none; node 0 is the root. Result[v] is
// the parent of v; empty if some node cannot be reached. Cubic in the nodes.
std::vector<std::size_t> LeastArborescence(const std::vector<std::vector<double>>& cost);

}  // namespace reshard
