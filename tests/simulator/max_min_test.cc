#include "simulator/max_min.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Pair;

FlowTable TableOf(const std::vector<std::vector<ResourceShare>>& flows,
                  const std::vector<double>& caps = {}) {
  FlowTable table;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    table.Add(flows[i], caps.empty() ? kUncapped : caps[i]);
  }
  return table;
}

TEST(MaxMinTest, OneFlowTakesItsNarrowestResource) {
  const std::vector<double> capacities = {10, 4};
  EXPECT_THAT(MaxMinRates(TableOf({{{0, 1}, {1, 1}}}), capacities), ElementsAre(DoubleEq(4)));
}

// Resource 0 (12) carries a, b, c; resource 1 (3) carries c and d; resource 2 (100) carries d.
// Level 1.5 fills resource 1: c = d = 1.5. Then a = b = (12 - 1.5) / 2 = 5.25.
TEST(MaxMinTest, WhatAFrozenFlowLeavesGoesToTheOthers) {
  const std::vector<double> capacities = {12, 3, 100};
  const FlowTable table = TableOf({{{0, 1}}, {{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}});
  EXPECT_THAT(MaxMinRates(table, capacities),
              ElementsAre(DoubleEq(5.25), DoubleEq(5.25), DoubleEq(1.5), DoubleEq(1.5)));
}

// Three flows on 9, one capped at 1: the others get (9 - 1) / 2 = 4.
TEST(MaxMinTest, ACapFreesTheRestForTheOthers) {
  const std::vector<double> capacities = {9};
  const FlowTable table = TableOf({{{0, 1}}, {{0, 1}}, {{0, 1}}}, {kUncapped, 1, kUncapped});
  EXPECT_THAT(MaxMinRates(table, capacities), ElementsAre(DoubleEq(4), DoubleEq(1), DoubleEq(4)));
}

// The same flows, and what the solver says beside their rates: resource 0 holds a and b, 1 holds c
// and d, 2 holds none and has 100 - 1.5 left.
TEST(MaxMinTest, ResourcesKnowWhatTheyHold) {
  const std::vector<std::vector<ResourceIndex>> uses = {{0}, {0}, {0, 1}, {1, 2}};
  MaxMinSolver solver;
  for (int time = 0; time < 2; ++time) {  // nothing stays of the problem before
    solver.Clear();
    for (int resource = 0; resource < 3; ++resource) solver.AddResource();
    for (const std::vector<ResourceIndex>& resources : uses) {
      solver.AddFlow(kUncapped);
      for (const ResourceIndex resource : resources) solver.AddShare(resource, 1);
    }
    solver.SetFree(0, 12);
    solver.SetFree(1, 3);
    solver.SetFree(2, 100);
    solver.Solve();
    EXPECT_EQ(solver.Bottleneck(0), 0);
    EXPECT_EQ(solver.Bottleneck(1), 0);
    EXPECT_EQ(solver.Bottleneck(2), 1);
    EXPECT_EQ(solver.Bottleneck(3), 1);
    EXPECT_DOUBLE_EQ(solver.HeldRate(0), 5.25);
    EXPECT_DOUBLE_EQ(solver.HeldRate(1), 1.5);
    EXPECT_EQ(solver.HeldRate(2), kUncapped);
    EXPECT_DOUBLE_EQ(solver.FastestRate(0), 5.25);
    EXPECT_DOUBLE_EQ(solver.FastestRate(1), 1.5);
    EXPECT_DOUBLE_EQ(solver.FastestRate(2), 1.5);
    EXPECT_NEAR(solver.LeftAt(0, 0), 0, 1e-12);
    EXPECT_DOUBLE_EQ(solver.LeftAt(2, 0), 98.5);
  }
}

// Hands out what it was given, resource by resource, and keeps what it was asked.
struct ScriptedOutside : OutsideFlows {
  MaxMinSolver* solver = nullptr;
  std::function<bool(MaxMinSolver&, ResourceIndex, double)> join;
  std::vector<std::pair<ResourceIndex, double>> asked;
  bool Join(ResourceIndex resource, double level) override {
    asked.emplace_back(resource, level);
    return join(*solver, resource, level);
  }
};

// Of 10 an outside flow has 8. At level 2 the resource is full, and that flow is faster: it joins,
// and both get 5.
TEST(MaxMinTest, AFasterFlowOutsideJoinsWhereTheResourceIsFull) {
  MaxMinSolver solver;
  ScriptedOutside outside;
  outside.solver = &solver;
  outside.join = [joined = false](MaxMinSolver& of, ResourceIndex resource, double) mutable {
    if (std::exchange(joined, true)) return false;
    of.AddFlow(kUncapped);
    of.AddShare(resource, 1);
    of.SetFree(resource, 10);
    return true;
  };
  solver.AddFlow(kUncapped);
  solver.AddShare(solver.AddResource(), 1);
  solver.SetFree(0, 2, 8);
  solver.Solve(&outside);
  EXPECT_THAT(outside.asked, ElementsAre(Pair(0, DoubleEq(2)), Pair(0, DoubleEq(5))));
  EXPECT_DOUBLE_EQ(solver.Rate(0), 5);
  EXPECT_DOUBLE_EQ(solver.Rate(1), 5);
}

// Resource 0 (10) holds two outside flows at 3; a flow on it gets 2 from resource 1. At level 3,
// with no flow rising any more, 2 of it are left: what it held joins and gets 4 each. Resource 2 is
// full with the 5 of those it holds, so they stay.
TEST(MaxMinTest, OutsideFlowsJoinWhatHoldsThemNoMore) {
  MaxMinSolver solver;
  ScriptedOutside outside;
  outside.solver = &solver;
  outside.join = [joined = false](MaxMinSolver& of, ResourceIndex resource, double level) mutable {
    if (resource != 0 || level != 3 || std::exchange(joined, true)) return false;
    EXPECT_DOUBLE_EQ(of.LeftAt(0, level), 2);
    for (int flow = 0; flow < 2; ++flow) {
      of.AddFlow(kUncapped);
      of.AddShare(0, 1);
    }
    of.SetFree(0, 10);
    return true;
  };
  for (int resource = 0; resource < 3; ++resource) solver.AddResource();
  solver.AddFlow(kUncapped);
  for (const ResourceIndex resource : {0, 1, 2}) solver.AddShare(resource, 1);
  solver.SetFree(0, 4, 3);
  solver.SetFree(1, 2);
  solver.SetFree(2, 2, 5);
  solver.Solve(&outside);
  EXPECT_DOUBLE_EQ(solver.Rate(0), 2);
  EXPECT_DOUBLE_EQ(solver.Rate(1), 4);
  EXPECT_DOUBLE_EQ(solver.Rate(2), 4);
  EXPECT_THAT(outside.asked, Contains(Pair(2, DoubleEq(5))));
}

// A cap above the fair rate says nothing.
TEST(MaxMinTest, ACapAboveTheFairRateDoesNotBind) {
  const std::vector<double> capacities = {9};
  const FlowTable table = TableOf({{{0, 1}}, {{0, 1}}, {{0, 1}}}, {3.5, 4, kUncapped});
  EXPECT_THAT(MaxMinRates(table, capacities), ElementsAre(DoubleEq(3), DoubleEq(3), DoubleEq(3)));
}

// A flow of share 3 stands for three equal flows: with one more on 8 each gets 8 / 4 = 2.
TEST(MaxMinTest, AMergedFlowCountsAsManyAsItStandsFor) {
  const std::vector<double> capacities = {8};
  EXPECT_THAT(MaxMinRates(TableOf({{{0, 3}}, {{0, 1}}}), capacities),
              ElementsAre(DoubleEq(2), DoubleEq(2)));
}

// Half its bytes over 0 (2), half over 1 (10): rate r uses r / 2 of each, so r = 4 fills resource
// 0.
TEST(MaxMinTest, ASplitFlowIsHeldByTheSlowerHalf) {
  const std::vector<double> capacities = {2, 10};
  EXPECT_THAT(MaxMinRates(TableOf({{{0, 0.5}, {1, 0.5}}}), capacities), ElementsAre(DoubleEq(4)));
}

TEST(MaxMinTest, AFlowThatUsesNothingRunsAtItsCap) {
  const std::vector<double> capacities = {1};
  EXPECT_THAT(MaxMinRates(TableOf({{}, {}}, {7, kUncapped}), capacities),
              ElementsAre(DoubleEq(7), kUncapped));
}

TEST(MaxMinTest, AResourceOfNothingGivesNothing) {
  const std::vector<double> capacities = {0, 5};
  EXPECT_THAT(MaxMinRates(TableOf({{{0, 1}, {1, 1}}, {{1, 1}}}), capacities),
              ElementsAre(DoubleEq(0), DoubleEq(5)));
}

struct RandomSet {
  std::vector<std::vector<ResourceShare>> flows;
  std::vector<double> caps;
  std::vector<double> capacities;
};

RandomSet MakeRandomSet(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  RandomSet set;
  const std::size_t resources = 1 + below(12);
  const std::size_t flows = 1 + below(40);
  for (std::size_t r = 0; r < resources; ++r) {
    set.capacities.push_back(static_cast<double>(1 + below(100)) / 3);
  }
  for (std::size_t f = 0; f < flows; ++f) {
    std::vector<ResourceIndex> all(resources);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    std::vector<ResourceShare>& uses = set.flows.emplace_back();
    const std::size_t count = 1 + below(std::min<std::size_t>(resources, 4));
    for (std::size_t i = 0; i < count; ++i) {
      const double share = below(3) == 0 ? static_cast<double>(1 + below(5)) / 2 : 1;
      uses.push_back({all[i], share});
    }
    set.caps.push_back(below(4) == 0 ? static_cast<double>(1 + below(60)) / 7 : kUncapped);
  }
  return set;
}

// Progressive filling by its definition on a dense matrix, one freezing set after another.
std::vector<double> FillDensely(const RandomSet& set) {
  const std::size_t flows = set.flows.size();
  const std::size_t resources = set.capacities.size();
  std::vector<std::vector<double>> share(flows, std::vector<double>(resources));
  for (std::size_t f = 0; f < flows; ++f) {
    for (const ResourceShare& use : set.flows[f]) {
      share[f][static_cast<std::size_t>(use.resource)] = use.share;
    }
  }
  std::vector<double> rates(flows, 0);
  std::vector<bool> rising(flows, true);
  while (std::find(rising.begin(), rising.end(), true) != rising.end()) {
    double step = kUncapped;
    std::vector<double> headroom(resources, kUncapped);
    for (std::size_t r = 0; r < resources; ++r) {
      double used = 0;
      double weight = 0;
      for (std::size_t f = 0; f < flows; ++f) {
        used += share[f][r] * rates[f];
        weight += rising[f] ? share[f][r] : 0;
      }
      if (weight > 0) headroom[r] = std::max(0.0, set.capacities[r] - used) / weight;
      step = std::min(step, headroom[r]);
    }
    for (std::size_t f = 0; f < flows; ++f) {
      if (rising[f]) step = std::min(step, set.caps[f] - rates[f]);
    }
    std::vector<bool> stops(flows, false);
    for (std::size_t f = 0; f < flows; ++f) {
      if (!rising[f]) continue;
      stops[f] = set.caps[f] - rates[f] <= step * (1 + 1e-12);
      for (std::size_t r = 0; r < resources; ++r) {
        if (share[f][r] > 0 && headroom[r] <= step * (1 + 1e-12) + 1e-13) stops[f] = true;
      }
    }
    for (std::size_t f = 0; f < flows; ++f) {
      if (rising[f]) rates[f] += step;
      if (stops[f]) rising[f] = false;
    }
  }
  return rates;
}

class RandomMaxMinTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomMaxMinTest, AgreesWithDenseFilling) {
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + " set " + std::to_string(i));
    const RandomSet set = MakeRandomSet(random);
    const std::vector<double> rates = MaxMinRates(TableOf(set.flows, set.caps), set.capacities);
    const std::vector<double> expected = FillDensely(set);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      EXPECT_NEAR(rates[f], expected[f], 1e-9 * (1 + expected[f])) << "flow " << f;
    }
  }
}

// The definition itself, without any filling: capacities hold, and every flow is at its cap or has
// a full resource on which no flow is faster.
TEST_P(RandomMaxMinTest, EveryFlowHasACapOrABottleneck) {
  std::mt19937_64 random(GetParam() + 1000);
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + " set " + std::to_string(i));
    const RandomSet set = MakeRandomSet(random);
    const std::vector<double> rates = MaxMinRates(TableOf(set.flows, set.caps), set.capacities);
    std::vector<double> used(set.capacities.size(), 0);
    std::vector<double> fastest(set.capacities.size(), 0);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      for (const ResourceShare& use : set.flows[f]) {
        const auto r = static_cast<std::size_t>(use.resource);
        used[r] += use.share * rates[f];
        fastest[r] = std::max(fastest[r], rates[f]);
      }
    }
    for (std::size_t r = 0; r < used.size(); ++r) {
      EXPECT_LE(used[r], set.capacities[r] * (1 + 1e-12));
    }
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const bool held =
          std::any_of(set.flows[f].begin(), set.flows[f].end(), [&](const ResourceShare& use) {
            const auto r = static_cast<std::size_t>(use.resource);
            return used[r] >= set.capacities[r] * (1 - 1e-9) && rates[f] >= fastest[r] * (1 - 1e-9);
          });
      EXPECT_TRUE(held || rates[f] >= set.caps[f] * (1 - 1e-12)) << "flow " << f;
      EXPECT_LE(rates[f], set.caps[f] * (1 + 1e-12));
    }
  }
}

// Twice the capacities and caps, twice the rates, exactly: a factor of two does not round.
TEST_P(RandomMaxMinTest, ScalesWithCapacities) {
  std::mt19937_64 random(GetParam() + 2000);
  RandomSet set = MakeRandomSet(random);
  const std::vector<double> rates = MaxMinRates(TableOf(set.flows, set.caps), set.capacities);
  for (double& capacity : set.capacities) capacity *= 2;
  for (double& cap : set.caps) cap *= 2;
  const std::vector<double> doubled = MaxMinRates(TableOf(set.flows, set.caps), set.capacities);
  for (std::size_t f = 0; f < rates.size(); ++f) EXPECT_EQ(doubled[f], 2 * rates[f]);
}

// The order of flows does not count, and n equal flows get what one of n-fold share gets.
TEST_P(RandomMaxMinTest, OrderAndMergingDoNotCount) {
  std::mt19937_64 random(GetParam() + 3000);
  RandomSet set = MakeRandomSet(random);
  const std::size_t copies = 2 + random() % 4;
  RandomSet merged = set;
  for (ResourceShare& use : merged.flows[0]) use.share *= static_cast<double>(copies);
  RandomSet single = set;
  for (std::size_t i = 1; i < copies; ++i) {
    single.flows.push_back(set.flows[0]);
    single.caps.push_back(set.caps[0]);
  }
  std::reverse(single.flows.begin(), single.flows.end());
  std::reverse(single.caps.begin(), single.caps.end());
  const std::vector<double> expected =
      MaxMinRates(TableOf(merged.flows, merged.caps), merged.capacities);
  std::vector<double> rates = MaxMinRates(TableOf(single.flows, single.caps), single.capacities);
  std::reverse(rates.begin(), rates.end());
  for (std::size_t f = 0; f < rates.size(); ++f) {
    const double wanted = f < expected.size() ? expected[f] : expected[0];
    EXPECT_NEAR(rates[f], wanted, 1e-9 * (1 + wanted)) << "seed " << GetParam() << " flow " << f;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMaxMinTest, ::testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace reshard
