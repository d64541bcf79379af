#include "compiler/baselines/collective_rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;

JobRecords RanksOnDomains(const std::vector<std::int32_t>& domains) {
  JobRecords job;
  for (const std::int32_t domain : domains) job.ranks.emplace_back().domain = domain;
  return job;
}

TEST(CollectiveRingsTest, EachRingEntersADomainAtAnotherRank) {
  const JobRecords job = RanksOnDomains({0, 0, 0, 4, 4, 4});
  EXPECT_THAT(CollectiveRings(job, std::vector<RankIndex>{0, 1, 2, 3, 4, 5}),
              ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5), ElementsAre(1, 2, 0, 4, 5, 3),
                          ElementsAre(2, 0, 1, 5, 3, 4)));
}

TEST(CollectiveRingsTest, TheLargestDomainSaysHowManyAndSmallOnesServeSeveral) {
  const JobRecords job = RanksOnDomains({0, 1, 1, 1, 2});
  EXPECT_THAT(CollectiveRings(job, std::vector<RankIndex>{0, 1, 3}),
              ElementsAre(ElementsAre(0, 1, 3), ElementsAre(0, 3, 1)));
}

TEST(CollectiveRingsTest, EveryRankOfADomainSendsAndReceivesOnceAcross) {
  const JobRecords job = RanksOnDomains({0, 0, 0, 0, 1, 1, 1, 1});
  std::map<RankIndex, int> leaving;
  std::map<RankIndex, int> entering;
  for (const auto& ring : CollectiveRings(job, std::vector<RankIndex>{0, 1, 2, 3, 4, 5, 6, 7})) {
    ++leaving[ring[3]];
    ++entering[ring[4]];
  }
  for (RankIndex rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(leaving[rank], 1);
    EXPECT_EQ(entering[rank + 4], 1);
  }
}

TEST(CollectiveRingsTest, NoRanksMakeNoRing) {
  EXPECT_TRUE(CollectiveRings(RanksOnDomains({}), {}).empty());
}

TEST(CollectiveRingsTest, BytesAreDealtWholly) {
  std::int64_t sum = 0;
  for (std::size_t ring = 0; ring < 3; ++ring) sum += RingBytes(11, ring, 3);
  EXPECT_EQ(sum, 11);
  EXPECT_EQ(RingBytes(11, 0, 3), 4);
  EXPECT_EQ(RingBytes(11, 2, 3), 3);
}

}  // namespace
}  // namespace reshard
