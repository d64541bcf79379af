#include "compiler/layout/index_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using testing::ElementsAre;

TEST(IndexListTest, RangesAndNumbersKeepTheOrderOfTheText) {
  EXPECT_THAT(*ParseIndexList("4-6,1, 0", 8), ElementsAre(4, 5, 6, 1, 0));
  EXPECT_THAT(*ParseIndexList("3", 4), ElementsAre(3));
}

TEST(IndexListTest, FormatIsTheShortestText) {
  EXPECT_EQ(FormatIndexList(*ParseIndexList("0,1,2,3,8,6-7", 9)), "0-3,8,6-7");
  EXPECT_EQ(FormatIndexList(*ParseIndexList("2,1,0", 3)), "2,1,0");
}

TEST(IndexListTest, RefusalsSayWhat) {
  const auto reason = [](std::string_view text) { return ParseIndexList(text, 8).error().reason; };
  EXPECT_EQ(reason("0-8"), "index 8 is out of range: there are 8, numbered from 0");
  EXPECT_EQ(reason("0,0"), "index 0 is listed twice");
  EXPECT_EQ(reason("0-3,2"), "index 2 is listed twice");
  EXPECT_EQ(reason("3-1"), "'3-1' is no index and no range of indices");
  EXPECT_EQ(reason(""), "'' is no index and no range of indices");
  EXPECT_EQ(reason("1,"), "'' is no index and no range of indices");
  EXPECT_EQ(reason("-1"), "'-1' is no index and no range of indices");
  EXPECT_EQ(reason("1-2-3"), "'1-2-3' is no index and no range of indices");
  EXPECT_EQ(reason("99999999999999999999"),
            "'99999999999999999999' is no index and no range of indices");
  EXPECT_EQ(reason("0-9223372036854775807"),
            "index 9223372036854775807 is out of range: there are 8, numbered from 0");
}

}  // namespace
}  // namespace reshard
