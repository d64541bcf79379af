#include "compiler/planning/flow_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/planning/linear_program.h"
#include "tests/compiler/random_draws.h"

namespace reshard {
namespace {

using testing::ElementsAre;

struct Instance {
  std::vector<FlowDemand> demands;
  std::vector<std::int64_t> capacities;
};

Instance RandomInstance(std::uint64_t seed) {
  RandomDraws draws(seed);
  Instance made;
  const std::int64_t suppliers = draws.Between(1, 6);
  for (std::int64_t s = 0; s < suppliers; ++s) {
    made.capacities.push_back(draws.Percent(15) ? 0 : draws.Between(1, 50));
  }
  made.capacities[0] = 1 + made.capacities[0];
  const std::int64_t scale = draws.Percent(30) ? std::int64_t{1} << 54 : 1000;
  for (std::int64_t i = draws.Between(1, 8); i > 0; --i) {
    FlowDemand demand{draws.Below(20) * scale + draws.Below(7), {}};
    for (std::int32_t s = 0; s < suppliers; ++s) {
      if (draws.Percent(40)) demand.suppliers.push_back(s);
    }
    const bool able = std::ranges::any_of(demand.suppliers, [&made](std::int32_t s) {
      return made.capacities[static_cast<std::size_t>(s)] > 0;
    });
    if (!able) demand.suppliers = {0};
    made.demands.push_back(std::move(demand));
  }
  return made;
}

std::vector<std::int64_t> LoadsOf(const Instance& instance, const LevelFlow& flow) {
  std::vector<std::int64_t> loads(instance.capacities.size(), 0);
  for (std::size_t i = 0; i < instance.demands.size(); ++i) {
    for (std::size_t k = 0; k < flow.bytes[i].size(); ++k) {
      loads[static_cast<std::size_t>(instance.demands[i].suppliers[k])] += flow.bytes[i][k];
    }
  }
  return loads;
}

double LevelOf(const LevelFlow& flow) {
  return static_cast<double>(flow.level_bytes) / static_cast<double>(flow.level_capacity);
}

// max over all sets of demands of bytes / capacity of all their suppliers.
double LevelByBruteForce(const Instance& instance) {
  double most = 0;
  for (std::uint32_t set = 1; set < 1U << instance.demands.size(); ++set) {
    double bytes = 0;
    std::vector<bool> counted(instance.capacities.size(), false);
    for (std::size_t i = 0; i < instance.demands.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      bytes += static_cast<double>(instance.demands[i].bytes);
      for (const std::int32_t s : instance.demands[i].suppliers) {
        counted[static_cast<std::size_t>(s)] = true;
      }
    }
    double capacity = 0;
    for (std::size_t s = 0; s < counted.size(); ++s) {
      if (counted[s]) capacity += static_cast<double>(instance.capacities[s]);
    }
    if (bytes > 0) most = std::max(most, bytes / capacity);
  }
  return most;
}

// Least T with sum over suppliers = bytes and load <= capacity T. In units of all bytes.
double LevelByLinearProgram(const Instance& instance) {
  double total = 1;
  for (const FlowDemand& demand : instance.demands) total += static_cast<double>(demand.bytes);
  LinearProgram program;
  const std::int32_t time = program.AddVariable(1);
  std::vector<std::int32_t> rows;
  for (const std::int64_t capacity : instance.capacities) {
    rows.push_back(program.AddRow(-kUnbounded, 0));
    if (capacity > 0) program.AddTerm(rows.back(), time, -static_cast<double>(capacity));
  }
  for (const FlowDemand& demand : instance.demands) {
    const double bytes = static_cast<double>(demand.bytes) / total;
    const std::int32_t all = program.AddRow(bytes, bytes);
    for (const std::int32_t s : demand.suppliers) {
      const std::int32_t sent = program.AddVariable(0);
      program.AddTerm(all, sent, 1);
      program.AddTerm(rows[static_cast<std::size_t>(s)], sent, 1);
    }
  }
  return program.Solve()->value * total;
}

// {0}: 30, {0, 1}: 10, {1, 2}: 8, with capacities 3, 1, 1. The first must take level 10; the others
// have suppliers 1 and 2 for 18 bytes: level 9.
TEST(FindLevelFlow, ByHand) {
  const std::vector<FlowDemand> demands{{30, {0}}, {10, {0, 1}}, {8, {1, 2}}};
  const std::vector<std::int64_t> capacities{3, 1, 1};
  const LevelFlow flow = FindLevelFlow(demands, capacities);
  EXPECT_EQ(LevelOf(flow), 10);
  EXPECT_THAT(flow.bytes[0], ElementsAre(30));
  EXPECT_THAT(flow.bytes[1], ElementsAre(0, 10));
  EXPECT_THAT(flow.bytes[2], ElementsAre(0, 8));
}

// Supplier 3 binds at 100. The rest is level as far as it can be: suppliers 0 and 1 at 40 / 4, and
// supplier 2, which only the last 8 bytes reach, at 8.
TEST(FindLevelFlow, WhatDoesNotBindIsEvenToo) {
  const std::vector<FlowDemand> demands{{30, {0, 1}}, {10, {0, 1}}, {8, {1, 2}}, {100, {3}}};
  const std::vector<std::int64_t> capacities{3, 1, 1, 1};
  const LevelFlow flow = FindLevelFlow(demands, capacities);
  EXPECT_EQ(LevelOf(flow), 100);
  const std::vector<std::int64_t> loads = LoadsOf({demands, capacities}, flow);
  EXPECT_THAT(loads, ElementsAre(30, 10, 8, 100));
}

TEST(FindLevelFlow, NothingDemandedIsNothingSent) {
  const std::vector<std::int64_t> capacities{1, 2};
  const LevelFlow flow = FindLevelFlow(std::vector<FlowDemand>{{0, {0, 1}}}, capacities);
  EXPECT_THAT(flow.bytes[0], ElementsAre(0, 0));
  EXPECT_EQ(flow.level_bytes, 0);
}

// Against every set of demands, one by one, and against the linear program; up to 2^61 bytes.
TEST(FindLevelFlow, LevelIsTheLeastPossible) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Instance instance = RandomInstance(seed);
    const LevelFlow flow = FindLevelFlow(instance.demands, instance.capacities);
    const double expected = LevelByBruteForce(instance);
    EXPECT_NEAR(LevelOf(flow), expected, 1e-12 * expected);
    EXPECT_NEAR(LevelByLinearProgram(instance), expected, 1e-6 * expected);
    for (std::size_t i = 0; i < instance.demands.size(); ++i) {
      EXPECT_EQ(std::accumulate(flow.bytes[i].begin(), flow.bytes[i].end(), std::int64_t{0}),
                instance.demands[i].bytes);
      EXPECT_GE(std::ranges::min(flow.bytes[i]), 0);
    }
  }
}

// Lexicographically least: no byte could move from a supplier to one that is less loaded by more
// than rounding.
TEST(FindLevelFlow, NoByteHasABetterPlace) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Instance instance = RandomInstance(seed);
    const LevelFlow flow = FindLevelFlow(instance.demands, instance.capacities);
    const std::vector<std::int64_t> loads = LoadsOf(instance, flow);
    const auto level = [&](std::int32_t s, double more) {
      const auto at = static_cast<std::size_t>(s);
      return (static_cast<double>(loads[at]) + more) / static_cast<double>(instance.capacities[at]);
    };
    for (std::size_t i = 0; i < instance.demands.size(); ++i) {
      const std::vector<std::int32_t>& suppliers = instance.demands[i].suppliers;
      for (std::size_t a = 0; a < suppliers.size(); ++a) {
        if (flow.bytes[i][a] == 0) continue;
        EXPECT_GT(instance.capacities[static_cast<std::size_t>(suppliers[a])], 0);
        for (const std::int32_t b : suppliers) {
          if (instance.capacities[static_cast<std::size_t>(b)] == 0) continue;
          EXPECT_LE(level(suppliers[a], -1), level(b, 6) * (1 + 1e-12));
        }
      }
    }
  }
}

// Rates of any unit: 2^40 and more count like their ratios.
TEST(FindLevelFlow, LargeCapacities) {
  const std::vector<FlowDemand> demands{{std::int64_t{1} << 61, {0, 1}}};
  const std::vector<std::int64_t> capacities{std::int64_t{3} << 40, std::int64_t{1} << 40};
  const LevelFlow flow = FindLevelFlow(demands, capacities);
  const double quarter = static_cast<double>(std::int64_t{1} << 59);
  EXPECT_NEAR(static_cast<double>(flow.bytes[0][1]), quarter, quarter * 1e-8);
  EXPECT_EQ(flow.bytes[0][0] + flow.bytes[0][1], std::int64_t{1} << 61);
}

}  // namespace
}  // namespace reshard
