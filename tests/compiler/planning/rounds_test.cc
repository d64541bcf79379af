#include "compiler/planning/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"

namespace reshard {
namespace {

using testing::ElementsAre;

// Groups by receivers and bytes, all bytes of a group sent by the last rank straight to its first
// receiver; every rank alone in its domain, with a NIC of 1 GB/s, or all in one domain with NVLink
// of 1 GB/s.
class PhasesOf {
 public:
  explicit PhasesOf(RankIndex ranks, bool local = false) : sender_(ranks - 1), local_(local) {
    for (RankIndex r = 0; r < ranks; ++r) {
      resources_.domain.push_back(local ? 0 : r);
      resources_.network_gbps.push_back(local ? 0 : 1);
      resources_.nvlink_gbps.push_back(local ? 1 : 0);
    }
  }
  PhasesOf& Add(std::vector<RankIndex> receivers, std::int64_t bytes) {
    const auto group = static_cast<std::int32_t>(deliveries_.groups.size());
    routes_.paths.push_back({{{0, receivers[0], kFromSender}}});
    routes_.columns.push_back({group, 0, bytes, sender_, sender_, group, group});
    DeliveryGroup& added = deliveries_.groups.emplace_back();
    for (const RankIndex r : receivers) added.domains.push_back({r, {r}});
    added.bytes = bytes;
    added.local = local_;
    return *this;
  }
  // To the path of the group that was added as number `group`.
  PhasesOf& AddHop(std::size_t group, const PathHop& hop) {
    routes_.paths[group].hops.push_back(hop);
    return *this;
  }
  Phases Make(double bound_seconds, std::size_t most = 4) const {
    return MakePhases(deliveries_, routes_, resources_, bound_seconds, most);
  }

 private:
  RankIndex sender_;
  bool local_;
  RankResources resources_;
  Deliveries deliveries_;
  Routes routes_;
};

TEST(MakePhases, GroupsWithoutCommonReceiversShareAPhase) {
  const Phases phases = PhasesOf(5).Add({0, 1}, 10).Add({2, 3}, 30).Make(1);
  EXPECT_THAT(phases.of_group, ElementsAre(0, 0));
  EXPECT_THAT(phases.bytes, ElementsAre(40));
}

// Of 1000 and more bytes, 10 and 5 are small: {0, 1} shares rank 1 with the large group and gets a
// phase of its own, before it; {3} shares nobody and joins the large one.
TEST(MakePhases, SmallGroupsWithACommonReceiverDoNot) {
  const Phases phases = PhasesOf(5).Add({0, 1}, 10).Add({1, 2}, 1000).Add({3}, 5).Make(1);
  EXPECT_THAT(phases.of_group, ElementsAre(0, 1, 1));
  EXPECT_THAT(phases.bytes, ElementsAre(10, 1005));
}

// Inside a domain, too, what a receiver passes on goes on below the rounds of the next phase: 10
// bytes from the sender to rank 0 keep no link busy for too long, their nine copies would.
TEST(MakePhases, WhatReceiversPassOnDoesNotCount) {
  PhasesOf phases(12, true);
  phases.Add({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10).Add({1, 10}, 1000);
  EXPECT_THAT(phases.Make(2.1e-6).of_group, ElementsAre(0, 1));
  for (RankIndex r = 1; r < 10; ++r) phases.AddHop(0, {0, r, 0});
  EXPECT_THAT(phases.Make(2.1e-6).of_group, ElementsAre(0, 1));
}

// Phases run one after another; two large groups would halve what fills the NICs in each.
TEST(MakePhases, LargeGroupsShareAPhaseWhoeverReceives) {
  const Phases phases = PhasesOf(5).Add({0, 1}, 400).Add({1, 2}, 1000).Make(1);
  EXPECT_THAT(phases.of_group, ElementsAre(0, 0));
  EXPECT_THAT(phases.bytes, ElementsAre(1400));
}

// 10 bytes take 10 ns of the NIC of rank 0: too much of a refit whose bound is a microsecond.
TEST(MakePhases, ASmallGroupThatKeepsANicBusyGetsNoPhase) {
  PhasesOf phases(5);
  phases.Add({0, 1}, 10).Add({1, 2}, 1000);
  EXPECT_THAT(phases.Make(1e-6).bytes, ElementsAre(1010));
  EXPECT_THAT(phases.Make(1e-5).bytes, ElementsAre(10, 1000));
}

TEST(MakePhases, NoGroupsStillHaveAPhaseForLocalCopies) {
  const Phases phases = PhasesOf(2).Make(1);
  EXPECT_TRUE(phases.of_group.empty());
  EXPECT_THAT(phases.bytes, ElementsAre(0));
}

TEST(MakePhases, AreFewAscendingAndHoldAllBytes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob random = MakeRandomJob(seed);
    const Stages stages = MakeStages(random.job, random.cluster);
    const Deliveries& deliveries = stages.deliveries;
    const Phases& phases = stages.phases;
    EXPECT_LE(phases.bytes.size(), 4U);
    EXPECT_TRUE(std::ranges::is_sorted(phases.bytes));
    ASSERT_EQ(phases.of_group.size(), deliveries.groups.size());
    std::vector<std::int64_t> bytes(phases.bytes.size(), 0);
    for (std::size_t g = 0; g < deliveries.groups.size(); ++g) {
      bytes.at(static_cast<std::size_t>(phases.of_group[g])) += deliveries.groups[g].bytes;
    }
    EXPECT_EQ(bytes, phases.bytes);
  }
}

// 10 bytes at 1 GB/s take a third of the bound of 30 ns: too long for a phase of their own, over
// NICs as over NVLink; of a bound of 3000 ns they are nothing. With one phase allowed there is one.
TEST(MakePhases, APhaseOfItsOwnTakesNextToNoTime) {
  for (const bool local : {false, true}) {
    SCOPED_TRACE(local);
    PhasesOf groups(4, local);
    groups.Add({0, 1}, 1000).Add({1, 2}, 10);
    EXPECT_EQ(groups.Make(30e-9).bytes.size(), 1U);
    EXPECT_EQ(groups.Make(3000e-9).bytes.size(), 2U);
    EXPECT_EQ(groups.Make(3000e-9, 1).bytes.size(), 1U);
  }
}

// 2 full rounds and 2 halvings: shares 1 1 1/2 1/4 1/4 of three.
TEST(RoundShape, TailHalves) {
  const RoundShape shape{2, 2};
  EXPECT_EQ(shape.rounds(), 5);
  const std::uint32_t third = 4294967295U / 3;
  EXPECT_THAT(shape.Weights(), ElementsAre(third, third, third / 2, third / 4, third / 4));
}

// One full round, then 80 % of the one before, twice, and once more: 1 0.8 0.64 0.64 of 3.08.
TEST(RoundShape, TailTapersGently) {
  const RoundShape shape{1, 2, 80};
  EXPECT_EQ(shape.rounds(), 4);
  const std::vector<std::uint32_t> weights = shape.Weights();
  const std::vector<double> parts{1, 0.8, 0.64, 0.64};
  ASSERT_EQ(weights.size(), parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    EXPECT_NEAR(weights[k], parts[k] / 3.08 * 4294967295.0, 1);
  }
}

// Two rounds up, 40 % of the one after each: 0.16 0.4 1 0.5 0.5 of 2.56.
TEST(RoundShape, RampGrows) {
  const RoundShape shape{1, 1, 50, 2, 40};
  EXPECT_EQ(shape.rounds(), 5);
  const std::vector<std::uint32_t> weights = shape.Weights();
  const std::vector<double> parts{0.16, 0.4, 1, 0.5, 0.5};
  ASSERT_EQ(weights.size(), parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    EXPECT_NEAR(weights[k], parts[k] / 2.56 * 4294967295.0, 1);
  }
}

TEST(RoundShape, WithoutHalvingsAllRoundsAreEqual) {
  EXPECT_EQ((RoundShape{4, 0}).rounds(), 4);
  EXPECT_THAT((RoundShape{4, 0}).Weights(),
              ElementsAre(1073741823U, 1073741823U, 1073741823U, 1073741823U));
  EXPECT_THAT((RoundShape{1, 0}).Weights(), ElementsAre(4294967295U));
}

TEST(RoundShape, WeightsSumToWithinOneRound) {
  for (std::int32_t full = 1; full <= 4096; full = full * 3 / 2 + 1) {
    for (std::int32_t halvings = 0; halvings <= 8; ++halvings) {
      const std::vector<std::uint32_t> weights = RoundShape{full, halvings}.Weights();
      ASSERT_EQ(static_cast<std::int32_t>(weights.size()), (RoundShape{full, halvings}.rounds()));
      const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
      EXPECT_LE(sum, std::uint64_t{1} << 32U);
      // The last chunk takes what rounding leaves: less than a byte in a megabyte's column each.
      EXPECT_GT(sum, (std::uint64_t{1} << 32U) - 2 * weights.size() - 2);
      EXPECT_GT(weights.back(), 0U);
    }
  }
}

}  // namespace
}  // namespace reshard
