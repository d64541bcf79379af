#include "simulator/flow_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;

std::vector<FlowIndex> ActiveOf(const FlowEngine& engine, const FlowTable& table) {
  std::vector<FlowIndex> flows;
  for (std::size_t flow = 0; flow < table.size(); ++flow) {
    if (engine.IsActive(static_cast<FlowIndex>(flow)))
      flows.push_back(static_cast<FlowIndex>(flow));
  }
  return flows;
}

// Runs the flows of `starts` (instant, flow, bytes; ascending) to their ends.
struct Start {
  Nanoseconds at = 0;
  FlowIndex flow = 0;
  double bytes = 0;
};
std::vector<Nanoseconds> EndsOf(const FlowTable& table, const std::vector<double>& capacities,
                                const std::vector<Start>& starts, Nanoseconds origin = 0,
                                double end_tolerance = 0, Nanoseconds life_min = 0) {
  FlowEngine engine(table, capacities, nullptr, end_tolerance, life_min);
  std::vector<Nanoseconds> ends(table.size(), -1);
  std::vector<FlowIndex> ended;
  std::size_t next = 0;
  while (true) {
    const Nanoseconds start = next < starts.size() ? starts[next].at + origin : kNever;
    const Nanoseconds now = std::min(start, engine.NextEnd());
    if (now == kNever) return ends;
    ended.clear();
    engine.Complete(now, ended);
    for (const FlowIndex flow : ended) ends[static_cast<std::size_t>(flow)] = now - origin;
    for (; next < starts.size() && starts[next].at + origin == now; ++next) {
      engine.Start(starts[next].flow, starts[next].bytes, now);
    }
    engine.UpdateRates(now);
  }
}

FlowTable TableOf(const std::vector<std::vector<ResourceShare>>& flows) {
  FlowTable table;
  for (const std::vector<ResourceShare>& uses : flows) table.Add(uses, kUncapped);
  return table;
}

// 1000 bytes at 4 bytes a nanosecond.
TEST(FlowEngineTest, OneFlow) {
  const FlowTable table = TableOf({{{0, 1}}});
  EXPECT_THAT(EndsOf(table, {4}, {{0, 0, 1000}}), ElementsAre(250));
}

// 1001 bytes at 4: 250.25 ns, counted on the next whole nanosecond, never early.
TEST(FlowEngineTest, AnEndIsCountedOnTheNextNanosecond) {
  const FlowTable table = TableOf({{{0, 1}}});
  EXPECT_THAT(EndsOf(table, {4}, {{0, 0, 1001}}), ElementsAre(251));
}

// Both on 4: 2 each until a (1000 bytes) ends at 500; b (3000) has 2000 left, at 4: 500 + 500.
TEST(FlowEngineTest, TheOtherSpeedsUpWhenOneEnds) {
  const FlowTable table = TableOf({{{0, 1}}, {{0, 1}}});
  EXPECT_THAT(EndsOf(table, {4}, {{0, 0, 1000}, {0, 1, 3000}}), ElementsAre(500, 1000));
}

// a alone until 100 (400 of 1000 bytes gone), then both at 2: a ends at 100 + 300 = 400, b has
// 1000 - 600 = 400 left, at 4: 500.
TEST(FlowEngineTest, ALateStartSlowsTheOther) {
  const FlowTable table = TableOf({{{0, 1}}, {{0, 1}}});
  EXPECT_THAT(EndsOf(table, {4}, {{0, 0, 1000}, {100, 1, 1000}}), ElementsAre(400, 500));
}

// A flow may start again at the instant it ended, and is listed once.
TEST(FlowEngineTest, AFlowStartsAgainAtTheInstantItEnded) {
  const FlowTable table = TableOf({{{0, 1}}, {{0, 1}}});
  FlowEngine engine(table, {4});
  std::vector<FlowIndex> ended;
  engine.Start(0, 200, 0);
  engine.Start(1, 1000, 0);
  engine.UpdateRates(0);
  EXPECT_EQ(engine.NextEnd(), 100);
  engine.Complete(100, ended);
  EXPECT_THAT(ended, ElementsAre(0));
  engine.Start(0, 400, 100);
  engine.UpdateRates(100);
  EXPECT_EQ(engine.Rate(0), 2);
  EXPECT_EQ(engine.NextEnd(), 300);  // 400 bytes at 2
  ended.clear();
  engine.Complete(300, ended);
  EXPECT_THAT(ended, ElementsAre(0));
  engine.UpdateRates(300);
  EXPECT_EQ(engine.Rate(1), 4);
  EXPECT_EQ(engine.NextEnd(), 400);  // 1000 - 600 bytes at 4
}

// Lives of 1000, 1001 and 1003 ns at a tolerance of 1 in 100: the grain is 8 ns, the next multiple
// of it 1000 or 1008. None is early, none late by more than the tolerance.
TEST(FlowEngineTest, WithAToleranceEndsMeet) {
  const FlowTable table = TableOf({{{0, 1}}, {{1, 1}}, {{2, 1}}});
  const std::vector<Start> starts = {{0, 0, 1000}, {0, 1, 1001}, {0, 2, 1003}};
  EXPECT_THAT(EndsOf(table, {1, 1, 1}, starts), ElementsAre(1000, 1001, 1003));
  EXPECT_THAT(EndsOf(table, {1, 1, 1}, starts, 0, 0.01), ElementsAre(1000, 1008, 1008));
  // A life too short for it is exact.
  EXPECT_THAT(EndsOf(table, {1, 1, 1}, {{0, 0, 100}, {0, 1, 101}, {0, 2, 103}}, 0, 0.01),
              ElementsAre(100, 101, 103));
}

// The same lives count as 4000 ns: the grain is 32 ns, and 1024 the next multiple of it; a longer
// one as itself, 8001 ns with a grain of 64.
TEST(FlowEngineTest, AShortLifeHasTheToleranceOfTheLeast) {
  const FlowTable table = TableOf({{{0, 1}}, {{1, 1}}, {{2, 1}}});
  EXPECT_THAT(EndsOf(table, {1, 1, 1}, {{0, 0, 1000}, {0, 1, 1001}, {0, 2, 8001}}, 0, 0.01, 4000),
              ElementsAre(1024, 1024, 8064));
}

// A flow over nothing takes its least time, a nanosecond; one at rate 0 never ends.
TEST(FlowEngineTest, FlowsWithoutResourcesAndWithoutRate) {
  FlowTable table;
  table.Add({}, kUncapped);
  const std::vector<ResourceShare> closed = {{0, 1}};
  table.Add(closed, kUncapped);
  FlowEngine engine(table, {0});
  std::vector<FlowIndex> ended;
  engine.Start(0, 1e9, 5);
  engine.Start(1, 1, 5);
  engine.UpdateRates(5);
  EXPECT_EQ(engine.NextEnd(), 6);
  engine.Complete(6, ended);
  EXPECT_THAT(ended, ElementsAre(0));
  engine.UpdateRates(6);
  EXPECT_EQ(engine.NextEnd(), kNever);
  EXPECT_FALSE(engine.IsActive(0));
  EXPECT_TRUE(engine.IsActive(1));
}

// a keeps 0.1 of 1 by its cap all along; b comes and goes beside it ten thousand times and always
// finds 0.9, however often what a uses has been told from a sum.
TEST(FlowEngineTest, RoundingDoesNotAddUp) {
  FlowTable table;
  const std::vector<ResourceShare> shares = {{0, 1}};
  table.Add(shares, 0.1);
  table.Add(shares, kUncapped);
  table.Add(shares, 0.3);
  FlowEngine engine(table, {1});
  std::vector<FlowIndex> ended;
  engine.Start(0, 1e12, 0);
  engine.UpdateRates(0);
  for (int time = 0; time < 10000; ++time) {
    const Nanoseconds now = engine.NextEnd() == kNever || time == 0 ? 0 : engine.NextEnd();
    ended.clear();
    if (time > 0) engine.Complete(now, ended);
    const FlowIndex flow = time % 3 == 0 ? 2 : 1;
    engine.Start(flow, 100, now);
    engine.UpdateRates(now);
    ASSERT_NEAR(engine.Rate(flow), flow == 2 ? 0.3 : 0.9, 1e-13) << "time " << time;
    ASSERT_EQ(engine.Rate(0), 0.1);
  }
}

struct RandomCase {
  FlowTable table;
  std::vector<std::vector<ResourceShare>> uses;
  std::vector<double> capacities;
  std::vector<Start> starts;
};

RandomCase MakeRandomCase(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  RandomCase out;
  const auto ends = static_cast<ResourceIndex>(2 + below(6));
  for (ResourceIndex r = 0; r < 2 * ends; ++r) {
    out.capacities.push_back(static_cast<double>(1 + below(50)));
  }
  const std::uint64_t flows = 2 + below(60);
  for (std::uint64_t f = 0; f < flows; ++f) {
    const auto from = static_cast<ResourceIndex>(below(static_cast<std::uint64_t>(ends)));
    const auto to = static_cast<ResourceIndex>(below(static_cast<std::uint64_t>(ends)));
    out.uses.push_back({{from, 1}, {ends + to, below(2) == 0 ? 1.0 : 0.75}});
    out.table.Add(out.uses.back(), below(5) == 0 ? static_cast<double>(1 + below(9)) : kUncapped);
    out.starts.push_back({static_cast<Nanoseconds>(below(4) * 700), static_cast<FlowIndex>(f),
                          static_cast<double>(1 + below(100000))});
  }
  std::stable_sort(out.starts.begin(), out.starts.end(),
                   [](const Start& a, const Start& b) { return a.at < b.at; });
  return out;
}

class RandomFlowEngineTest : public ::testing::TestWithParam<std::uint64_t> {};

// What happens does not depend on when it begins: every end shifts exactly.
TEST_P(RandomFlowEngineTest, IsTranslationInvariant) {
  const RandomCase c = MakeRandomCase(GetParam());
  const std::vector<Nanoseconds> ends = EndsOf(c.table, c.capacities, c.starts);
  EXPECT_EQ(EndsOf(c.table, c.capacities, c.starts, 987654321987), ends) << "seed " << GetParam();
}

// At every event the rates are those of a full solution over the active flows, and the bytes moved
// between start and end are the flow's, up to a nanosecond of its last rate.
TEST_P(RandomFlowEngineTest, RatesAreGlobalAndBytesAreConserved) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const RandomCase c = MakeRandomCase(GetParam() + 100);
  FlowEngine engine(c.table, c.capacities);
  std::vector<double> moved(c.table.size());
  std::vector<double> wanted(c.table.size());
  std::vector<FlowIndex> ended;
  std::size_t next = 0;
  Nanoseconds now = 0;
  std::size_t ended_count = 0;
  while (true) {
    const Nanoseconds start = next < c.starts.size() ? c.starts[next].at : kNever;
    const Nanoseconds then = std::min(start, engine.NextEnd());
    if (then == kNever) break;
    for (const FlowIndex flow : ActiveOf(engine, c.table)) {
      moved[static_cast<std::size_t>(flow)] += engine.Rate(flow) * static_cast<double>(then - now);
    }
    now = then;
    ended.clear();
    engine.Complete(now, ended);
    ended_count += ended.size();
    for (const FlowIndex flow : ended) {
      const auto index = static_cast<std::size_t>(flow);
      EXPECT_GE(moved[index], wanted[index] - 1e-3 * engine.Rate(flow) - 1e-6);
      EXPECT_LE(moved[index], wanted[index] + engine.Rate(flow) + 1e-6);
    }
    for (; next < c.starts.size() && c.starts[next].at == now; ++next) {
      engine.Start(c.starts[next].flow, c.starts[next].bytes, now);
      wanted[static_cast<std::size_t>(c.starts[next].flow)] = c.starts[next].bytes;
    }
    engine.UpdateRates(now);

    const std::vector<FlowIndex> active = ActiveOf(engine, c.table);
    FlowTable alone;
    std::vector<double> used(c.capacities.size());
    for (const FlowIndex flow : active) {
      alone.Add(c.table.Shares(flow), c.table.Cap(flow));
      for (const ResourceShare& use : c.table.Shares(flow)) {
        used[static_cast<std::size_t>(use.resource)] += use.share * engine.Rate(flow);
      }
    }
    const std::vector<double> rates = MaxMinRates(alone, c.capacities);
    for (std::size_t i = 0; i < active.size(); ++i) {
      EXPECT_NEAR(engine.Rate(active[i]), rates[i], 1e-9 * (1 + rates[i]));
    }
    for (std::size_t r = 0; r < used.size(); ++r) {
      EXPECT_LE(used[r], c.capacities[r] * (1 + 1e-12));
    }
  }
  EXPECT_EQ(ended_count, c.table.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFlowEngineTest, ::testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace reshard
