#include "runtime/ready_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;

Work StepOf(RankIndex rank, Lane lane = Lane::kPack) {
  Work work;
  work.lane = lane;
  work.rank = rank;
  work.peer = rank;
  return work;
}

Work PairOf(RankIndex from, RankIndex to) {
  Work work = StepOf(from, Lane::kExchange);
  work.peer = to;
  return work;
}

std::vector<RankIndex> TakeAll(ReadyWork& ready) {
  std::vector<RankIndex> ranks;
  while (!ready.empty()) ranks.push_back(ready.Take().rank);
  return ranks;
}

TEST(ReadyWorkTest, WithoutASeedItIsAQueue) {
  ReadyWork ready(std::nullopt);
  for (RankIndex rank = 0; rank < 4; ++rank) ready.Add(StepOf(rank));
  EXPECT_THAT(TakeAll(ready), ElementsAre(0, 1, 2, 3));
}

TEST(ReadyWorkTest, DropsWhatTouchesARank) {
  ReadyWork ready(std::nullopt);
  ready.Add(StepOf(0));
  ready.Add(PairOf(1, 0));
  ready.Add(PairOf(0, 2));
  ready.Add(PairOf(1, 2));
  ready.Drop(0);
  EXPECT_THAT(TakeAll(ready), ElementsAre(1));
}

TEST(ReadyWorkTest, SeedsRepeatAndReachEveryOrder) {
  std::set<std::vector<RankIndex>> orders;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::vector<RankIndex> order[2];
    for (std::vector<RankIndex>& ranks : order) {
      ReadyWork ready(seed);
      for (RankIndex rank = 0; rank < 4; ++rank) ready.Add(StepOf(rank));
      ranks = TakeAll(ready);
    }
    EXPECT_EQ(order[0], order[1]);
    orders.insert(order[0]);
  }
  EXPECT_EQ(orders.size(), 24u);  // 4!
}

}  // namespace
}  // namespace reshard
