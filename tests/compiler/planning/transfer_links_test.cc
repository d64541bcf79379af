#include "compiler/planning/transfer_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;

// Ranks 0.. of which every `per_domain` share a domain.
JobRecords Ranks(std::int32_t count, std::int32_t per_domain) {
  JobRecords job;
  for (std::int32_t r = 0; r < count; ++r) {
    Rank rank;
    rank.gpu = r;
    rank.domain = r / per_domain;
    job.ranks.push_back(rank);
  }
  return job;
}

const Phases kOnePhase{{0}, {1000}};

// Column 0 goes 0 -> 2 -> 3, column 1 goes 1 -> 2 -> 3; 0, 1 | 2, 3 are the domains. What 2
// forwards lies together where it was received, so it leaves from there a round later.
TEST(TransferLinks, ForwardsWhatLiesTogetherFromWhereItLies) {
  Routes routes;
  routes.paths.push_back({{{0, 2, kFromSender}, {2, 3, 0}}});
  routes.columns.push_back({0, 0, 100, 0, 0, 0, 0});
  routes.columns.push_back({0, 100, 200, 1, 1, 0, 0});
  const TransferLinks links = MakeTransferLinks(Ranks(4, 2), routes, kOnePhase);
  ASSERT_EQ(links.links.size(), 3U);  // (0, 2), (1, 2), (2, 3)
  EXPECT_TRUE(links.links[0].packed);
  EXPECT_FALSE(links.links[0].forwards);
  EXPECT_FALSE(links.links[2].packed);
  EXPECT_TRUE(links.links[2].forwards);
  EXPECT_THAT(links.areas[ReceiveArea(2, 0, kOnePhase)], ElementsAre(0, 1));
  EXPECT_THAT(links.pack_lag, ElementsAre(0, 0, 0, 0));
  for (const std::int64_t h : links.links[2].hops) {
    EXPECT_EQ(links.hops[static_cast<std::size_t>(h)].round, 1);
  }
}

// Rank 1 sends columns of its own to 2 and passes on what it has from 0: the transfer 1 -> 2 mixes
// both, so 1 packs it, a round ahead of all it sends, and the column from 0 leaves two rounds late.
TEST(TransferLinks, PacksAnewWhatAnExitMixesWithItsOwn) {
  Routes routes;
  routes.paths.push_back({{{0, 2, kFromSender}}});
  routes.columns.push_back({0, 0, 100, 1, 1, 0, 0});
  routes.columns.push_back({0, 100, 200, 0, 1, 0, 0});
  const TransferLinks links = MakeTransferLinks(Ranks(4, 2), routes, kOnePhase);
  ASSERT_EQ(links.links.size(), 2U);  // (0, 1), (1, 2)
  EXPECT_TRUE(links.links[1].packed);
  EXPECT_TRUE(links.links[1].forwards);
  EXPECT_THAT(links.pack_lag, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(links.shift, ElementsAre(0, 2));
}

// Rank 2 has columns 0, 1, 2 one after another and must pass on 0 and 2 to rank 3: not together.
TEST(TransferLinks, PacksAnewWhatDoesNotLieTogether) {
  Routes routes;
  routes.paths.push_back({{{0, 2, kFromSender}, {2, 3, 0}}});
  routes.paths.push_back({{{0, 2, kFromSender}}});
  routes.columns.push_back({0, 0, 100, 0, 0, 0, 0});
  routes.columns.push_back({0, 100, 200, 0, 0, 1, 0});
  routes.columns.push_back({0, 200, 300, 0, 0, 0, 0});
  const TransferLinks links = MakeTransferLinks(Ranks(4, 2), routes, kOnePhase);
  ASSERT_EQ(links.links.size(), 2U);  // (0, 2), (2, 3)
  EXPECT_TRUE(links.links[1].packed);
  EXPECT_THAT(links.pack_lag, ElementsAre(0, 0, 1, 0));
}

TEST(TransferLinks, PhasesAreKeptApart) {
  Routes routes;
  routes.paths.push_back({{{0, 1, kFromSender}}});
  routes.columns.push_back({0, 0, 100, 0, 0, 0, 0});
  routes.columns.push_back({1, 0, 100, 0, 0, 0, 1});
  const Phases phases{{1, 0}, {100, 100}};
  const TransferLinks links = MakeTransferLinks(Ranks(2, 1), routes, phases);
  ASSERT_EQ(links.links.size(), 2U);
  EXPECT_EQ(links.links[0].phase, 0);
  EXPECT_EQ(links.links[1].phase, 1);
  EXPECT_THAT(links.areas[ReceiveArea(1, 0, phases)], ElementsAre(0));
  EXPECT_THAT(links.areas[ReceiveArea(1, 1, phases)], ElementsAre(1));
}

}  // namespace
}  // namespace reshard
