// The flow engine against SimGrid: random flow sets with starts and caps, every end compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine_ends.h"
#include "simgrid_oracle.h"

namespace reshard {
namespace {

// A third of the sets is bipartite, as transfers between NICs are; the rest crosses any links.
OracleSet MakeSet(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  OracleSet set;
  const std::uint64_t ends = 2 + below(6);
  const std::uint64_t links = 2 * ends;
  for (std::uint64_t l = 0; l < links; ++l) {
    set.link_rates.push_back(1e9 * static_cast<double>(1 + below(50)));
  }
  const std::uint64_t flows = 2 + below(24);
  for (std::uint64_t f = 0; f < flows; ++f) {
    OracleFlow& flow = set.flows.emplace_back();
    if (seed % 3 == 0) {
      flow.links = {static_cast<int>(below(ends)), static_cast<int>(ends + below(ends))};
    } else {
      std::vector<int> all(links);
      std::iota(all.begin(), all.end(), 0);
      std::shuffle(all.begin(), all.end(), random);
      all.resize(1 + below(4));
      flow.links = all;
    }
    flow.bytes = 1'000'000 * (1 + below(2000));
    flow.start_seconds = below(2) == 0 ? 0 : 0.01 * static_cast<double>(below(30));
    if (below(4) == 0) flow.cap = 1e9 * static_cast<double>(1 + below(20));
  }
  return set;
}

TEST(SimGridTest, FlowSetsEndWhenSimGridSays) {
  constexpr std::uint64_t kSets = 360;
  std::vector<OracleSet> sets;
  for (std::uint64_t seed = 1; seed <= kSets; ++seed) sets.push_back(MakeSet(seed));
  const std::vector<std::vector<double>> expected = EndsBySimGrid(sets);
  std::size_t flows = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const std::vector<double> ends = EndsByEngine(sets[s]);
    for (std::size_t f = 0; f < ends.size(); ++f) {
      EXPECT_NEAR(ends[f], expected[s][f], 1e-3 * expected[s][f])
          << "seed " << s + 1 << " flow " << f;
      ++flows;
    }
  }
  EXPECT_GT(flows, 3000U);
}

}  // namespace
}  // namespace reshard
