// The flow engine against SimGrid: random flow sets with starts and caps, every end compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "simgrid_oracle.h"
#include "simulator/flow_engine.h"

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

std::vector<double> EndsByEngine(const OracleSet& set) {
  std::vector<double> capacities;
  for (const double rate : set.link_rates) capacities.push_back(rate / 1e9);
  FlowTable table;
  std::vector<FlowIndex> order;
  for (const OracleFlow& flow : set.flows) {
    std::vector<ResourceShare> shares;
    for (const int link : flow.links) shares.push_back({link, 1});
    order.push_back(table.Add(shares, flow.cap > 0 ? flow.cap / 1e9 : kUncapped));
  }
  const auto start_of = [&](FlowIndex flow) {
    return static_cast<Nanoseconds>(
        std::llround(set.flows[static_cast<std::size_t>(flow)].start_seconds * 1e9));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](FlowIndex a, FlowIndex b) { return start_of(a) < start_of(b); });
  FlowEngine engine(table, capacities);
  std::vector<double> ends(set.flows.size());
  std::vector<FlowIndex> ended;
  std::size_t next = 0;
  while (true) {
    const Nanoseconds start = next < order.size() ? start_of(order[next]) : kNever;
    const Nanoseconds now = std::min(start, engine.NextEnd());
    if (now == kNever) return ends;
    ended.clear();
    engine.Complete(now, ended);
    for (const FlowIndex flow : ended) {
      ends[static_cast<std::size_t>(flow)] = static_cast<double>(now) * 1e-9;
    }
    for (; next < order.size() && start_of(order[next]) == now; ++next) {
      const OracleFlow& flow = set.flows[static_cast<std::size_t>(order[next])];
      engine.Start(order[next], static_cast<double>(flow.bytes), now);
    }
    engine.UpdateRates(now);
  }
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
