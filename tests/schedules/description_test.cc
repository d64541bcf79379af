#include "schedules/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RankDescriptionTest, ASourceCountsWhatItPacksAndSends) {
  const RankDescription rank = DescribeRank(SmallPlan(), 0);
  EXPECT_EQ(rank.packed_bytes, 72 + 64 + 128);
  EXPECT_EQ(rank.unpacked_bytes, 0);
  EXPECT_EQ(rank.source.parameters, 3);
  EXPECT_EQ(rank.source.parameter_bytes, 128 + 128 + 8);
  EXPECT_EQ(rank.destination.group, kNoGroup);
  EXPECT_EQ(rank.staging_bytes, 160);
  ASSERT_EQ(rank.peers.size(), 2U);
  EXPECT_EQ(rank.peers[0].peer, 2);
  EXPECT_FALSE(rank.peers[0].is_same_domain);
  EXPECT_EQ(rank.peers[0].sent_bytes, 72 + 128);
  EXPECT_EQ(rank.peers[0].rounds.last, 4);
  EXPECT_EQ(rank.peers[1].sent_bytes, 64);
}

TEST(RankDescriptionTest, APackingOfWhatWasReceivedIsNoPackingOfParameters) {
  const RankDescription rank = DescribeRank(SmallPlan(), 3);
  EXPECT_EQ(rank.packed_bytes, 0);
  EXPECT_EQ(rank.unpacked_bytes, 64);
  ASSERT_EQ(rank.slots.size(), 2U);
  EXPECT_EQ(rank.slots[1].rounds.first, 1);
  EXPECT_EQ(rank.slots[1].rounds.last, 5);
  EXPECT_TRUE(rank.peers[1].is_same_domain);
}

TEST(RankDescriptionTest, TextNamesAllInUnits) {
  const std::string text = Text(DescribeRank(SmallPlan(), 1));
  EXPECT_THAT(text, HasSubstr("rank 1: GPU 1, node 0, domain 0\n"));
  EXPECT_THAT(text,
              HasSubstr("source        group 1, layout 1: 1 parameters of 128 B, 1 regions\n"));
  EXPECT_THAT(text, HasSubstr("moves itself  128 B\n"));
  EXPECT_THAT(
      text, HasSubstr("waits         unpack r after exchange r; exchange r after unpack r - 2\n"));
  EXPECT_THAT(text, HasSubstr("   2  NICs      0   0 B         1      72 B     1-4\n"));
}

TEST(ClassDescriptionTest, HopsFollowTheColumn) {
  const ClassDescription one = DescribeClass(SmallPlan(), 0);
  EXPECT_THAT(one.holders, ElementsAre(0));
  EXPECT_THAT(one.needers, ElementsAre(1, 2));
  EXPECT_THAT(one.tensors, ElementsAre(0, 2));
  ASSERT_EQ(one.columns.size(), 1U);
  EXPECT_EQ(one.columns[0].chunks, 4);
  ASSERT_EQ(one.columns[0].hops.size(), 2U);
  EXPECT_EQ(one.columns[0].hops[0].from, 0);
  EXPECT_EQ(one.columns[0].hops[0].to, 2);
  EXPECT_EQ(one.columns[0].hops[1].from, 2);
  EXPECT_EQ(one.columns[0].hops[1].to, 1);
  EXPECT_EQ(one.columns[0].hops[1].first_round, 1);
  EXPECT_THAT(DescribeClass(SmallPlan(), 2).columns[0].local_moves, ElementsAre(1));
}

TEST(ClassDescriptionTest, TextIsTheTreeOfEachColumn) {
  const Plan plan = SmallPlan();
  EXPECT_EQ(Text(DescribeClass(plan, 2), plan),
            "class 2: 128 B (128 B) in 1 fragments\n"
            "  tensors  1: b\n"
            "  holders  0-1 (domain 0: 2)\n"
            "  needers  1-2 (domain 0: 1, domain 1: 1)\n"
            "  column 2: bytes [0, 128), 128 B in 4 chunks\n"
            "    0 -> 2 over NICs from round 0\n"
            "    moved by 1 themselves\n");
}

TEST(TableTest, EveryClassAndRankHasALine) {
  EXPECT_EQ(ClassTable(SmallPlan()),
            "class  volume  fragments  columns  holders  needers\n"
            "    0    72 B          2        1  0        1-2\n"
            "    1    64 B          1        1  0        3-4\n"
            "    2   128 B          1        1  0-1      1-2\n");
  const std::string ranks = RankTable(SmallPlan());
  EXPECT_THAT(ranks,
              HasSubstr("\n   2    4       1  -        group 0                72 B               "
                        "200 B               0 B                   0 B    128 B\n"));
}

}  // namespace
}  // namespace reshard
