#include "compiler/planning/heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kMB = 1'000'000;

// One domain of as many ranks as `network_gbps` has, each with an NVLink of 400 GB/s.
RankResources OneDomain(const std::vector<double>& network_gbps) {
  RankResources resources;
  resources.domains.resize(1);
  for (std::size_t r = 0; r < network_gbps.size(); ++r) {
    resources.nvlink_gbps.push_back(400);
    resources.network_gbps.push_back(network_gbps[r]);
    resources.network_peak_gbps.push_back(network_gbps[r]);
    resources.domain.push_back(0);
    resources.rail.push_back(static_cast<std::int32_t>(r));
    resources.domains[0].ranks.push_back(static_cast<RankIndex>(r));
    resources.domains[0].network_gbps += network_gbps[r];
    resources.domains[0].nic_count += network_gbps[r] > 0 ? 1 : 0;
  }
  return resources;
}

DeliveryGroup Group(std::vector<RankIndex> receivers, std::int64_t bytes, bool local = false) {
  return {local, {{0, std::move(receivers)}}, {}, bytes};
}

TEST(ChooseHeads, ReceiversTakeInByTheRateOfTheirNics) {
  const Deliveries deliveries{{Group({0, 1}, 48 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain({40, 20}), 1);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0, 1));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(32 * kMB, 48 * kMB));
}

// Rank 0 alone needs 10 MB, so ranks 1 and 2 take in all of the shared 20 MB: 10 MB each.
TEST(ChooseHeads, WhoeverNeedsLessElsewhereTakesInMore) {
  const Deliveries deliveries{{Group({0}, 10 * kMB), Group({0, 1, 2}, 20 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain({50, 50, 50}), 1);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0));
  EXPECT_THAT(heads[1][0].heads, ElementsAre(1, 2));
  EXPECT_THAT(heads[1][0].ends, ElementsAre(10 * kMB, 20 * kMB));
}

// 80 MB in 0.4 ms are four NICs of 50 GB/s: one receiver's own takes a quarter, three others the
// rest.
TEST(ChooseHeads, NicsOfOthersTakeInWhatReceiversCannotInTime) {
  const Deliveries deliveries{{Group({2}, 80 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain({50, 50, 50, 50}), 0.4e-3);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(20 * kMB, 40 * kMB, 60 * kMB, 80 * kMB));
}

TEST(ChooseHeads, WithTimeToSpareReceiversTakeInAll) {
  const Deliveries deliveries{{Group({2}, 80 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain({50, 50, 50, 50}), 2e-3);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(2));
}

TEST(ChooseHeads, AReceiverWithoutANicIsEnteredBesideIt) {
  const Deliveries deliveries{{Group({0}, 8 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain({0, 50, 50}), 1);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(1, 2));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(4 * kMB, 8 * kMB));
}

// 600,000 bytes are two heads' worth of kMinHeadBytes, not eight.
TEST(ChooseHeads, SmallGroupsHaveFewHeads) {
  const Deliveries deliveries{{Group({0, 1, 2, 3, 4, 5, 6, 7}, 600'000)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain(std::vector<double>(8, 50)), 1);
  EXPECT_EQ(heads[0][0].heads.size(), 2U);
  EXPECT_EQ(heads[0][0].ends.back(), 600'000);
}

TEST(ChooseHeads, LocalGroupsEnterOverNvlinkWhateverTheNics) {
  const Deliveries deliveries{{Group({0, 1}, 8 * kMB, true)}, {}};
  const auto heads = ChooseHeads(deliveries, OneDomain({0, 50}), 1);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0, 1));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(4 * kMB, 8 * kMB));
}

// All three need 80 MB in 0.8 ms. Rank 0's NVLink brings it 50 GB/s x 0.8 ms = 40 MB, so 40 MB come
// in over its NIC, at its full 50 GB/s, and each other takes in half of the rest. Rank 0 hands a
// half of its stretch to rank 1, to be passed on to rank 2, and the other half the other way.
TEST(ChooseHeads, ASlowNvlinkTakesInMoreOverItsNicAndHasDeputies) {
  RankResources resources = OneDomain({50, 50, 50});
  resources.nvlink_gbps[0] = 50;
  const Deliveries deliveries{{Group({0, 1, 2}, 80 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, resources, 0.8e-3);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(heads[0][0].deputies, ElementsAre(1, 2, kNoDeputy, kNoDeputy));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(20 * kMB, 40 * kMB, 60 * kMB, 80 * kMB));
}

// With twice the time, 80 MB come over its NVLink, and a third over its NIC is enough. Its copies
// for others still go over deputies.
TEST(ChooseHeads, WithTimeToSpareASlowNvlinkTakesInNoMoreThanOthers) {
  RankResources resources = OneDomain({50, 50, 50});
  resources.nvlink_gbps[0] = 50;
  const Deliveries deliveries{{Group({0, 1, 2}, 96 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, resources, 1.92e-3);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(16 * kMB, 32 * kMB, 64 * kMB, 96 * kMB));
}

// Dealt as alike, the fast NIC takes in no more than the others, and none of their 0.4 ms.
TEST(ChooseHeads, AFastNicThatIsDealtAsTheOthersTakesInNoMore) {
  RankResources resources = OneDomain({50, 50, 100, 50});
  resources.dealt_gbps.assign(4, 50);
  const Deliveries deliveries{{Group({0, 1, 2, 3}, 80 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, resources, 0.3e-3);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(20 * kMB, 40 * kMB, 60 * kMB, 80 * kMB));
}

// Rank 1's NIC is dealt 20 MB and can take in half of that in 0.4 ms. What others take in for it
// lies where its own part ends, so that all cuts of the others stay as they were.
TEST(ChooseHeads, WhatRelievesASlowNicLiesBesideIt) {
  RankResources resources = OneDomain({50, 25, 50, 50, 50});
  resources.dealt_gbps.assign(5, 50);
  const Deliveries deliveries{{Group({0, 1, 2, 3}, 80 * kMB)}, {}};
  const auto heads = ChooseHeads(deliveries, resources, 0.4e-3);
  EXPECT_THAT(heads[0][0].heads, ElementsAre(0, 1, 4, 2, 3));
  EXPECT_THAT(heads[0][0].ends, ElementsAre(20 * kMB, 30 * kMB, 40 * kMB, 60 * kMB, 80 * kMB));
}

TEST(ChooseHeads, NothingToDeliver) { EXPECT_THAT(ChooseHeads({}, OneDomain({50}), 1), IsEmpty()); }

}  // namespace
}  // namespace reshard
