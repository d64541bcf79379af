#include "foundation/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reshard {
namespace {

TEST(EditDistanceTest, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("tensr", "tensor"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);  // k->s, e->i, +g
  EXPECT_EQ(EditDistance("flaw", "lawn"), 2);       // -f, +n
}

TEST(SuggestNameTest, NamesTheNearest) {
  const std::vector<std::string_view> known = {"pipeline", "tensor", "expert", "expertTensor"};
  EXPECT_EQ(SuggestName("tensr", known), "did you mean 'tensor'?");
  EXPECT_EQ(SuggestName("experttensor", known), "did you mean 'expertTensor'?");
  EXPECT_EQ(SuggestName("Expert", known), "did you mean 'expert'?");
}

TEST(SuggestNameTest, ListsAllWhenNoneIsNear) {
  const std::vector<std::string_view> known = {"gpus", "layout"};
  EXPECT_EQ(SuggestName("colour", known), "known are 'gpus', 'layout'");
  EXPECT_EQ(SuggestName(std::string(100000, 'g'), known), "known are 'gpus', 'layout'");
  EXPECT_EQ(SuggestName("gpus", {}), "");
}

TEST(SuggestNameTest, OfEquallyNearNamesTheFirst) {
  const std::vector<std::string_view> known = {"name-a", "name-b"};
  EXPECT_EQ(SuggestName("name-c", known), "did you mean 'name-a'?");
}

}  // namespace
}  // namespace reshard
