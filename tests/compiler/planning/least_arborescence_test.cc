#include "compiler/planning/least_arborescence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/compiler/random_draws.h"

namespace reshard {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Infinite unless every node leads back to node 0.
double CostOf(const std::vector<std::size_t>& parent,
              const std::vector<std::vector<double>>& cost) {
  double sum = 0;
  for (std::size_t v = 1; v < parent.size(); ++v) {
    sum += cost[parent[v]][v];
    std::size_t at = v;
    for (std::size_t steps = 0; at != 0; at = parent[at]) {
      if (++steps > parent.size()) return kNone;
    }
  }
  return sum;
}

// Every choice of parents there is.
double LeastOfAll(const std::vector<std::vector<double>>& cost) {
  std::vector<std::size_t> parent(cost.size(), 0);
  double least = kNone;
  while (true) {
    least = std::min(least, CostOf(parent, cost));
    std::size_t v = 1;
    while (v < parent.size() && ++parent[v] == parent.size()) parent[v++] = 0;
    if (v == parent.size()) return least;
  }
}

TEST(LeastArborescence, IsTheCheapestOfAll) {
  int unreachable = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomDraws draws(seed);
    const auto count = static_cast<std::size_t>(draws.Between(2, 5));
    std::vector<std::vector<double>> cost(count, std::vector<double>(count, kNone));
    for (std::size_t u = 0; u < count; ++u) {
      for (std::size_t v = 1; v < count; ++v) {
        if (u != v && draws.Percent(70)) cost[u][v] = static_cast<double>(draws.Below(9));
      }
    }
    const double least = LeastOfAll(cost);
    const std::vector<std::size_t> parent = LeastArborescence(cost);
    if (parent.empty()) {
      EXPECT_EQ(least, kNone);
      ++unreachable;
    } else {
      EXPECT_EQ(CostOf(parent, cost), least);
    }
  }
  EXPECT_GT(unreachable, 20);
  EXPECT_LT(unreachable, 300);
}

}  // namespace
}  // namespace reshard
