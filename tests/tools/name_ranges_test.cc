#include "tools/name_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(JoinNumberedNames, JoinsNumbersIntoRanges) {
  EXPECT_THAT(JoinNumberedNames({"layers.0.up", "layers.1.up", "layers.10.up", "layers.2.up"}),
              ElementsAre("layers.{0-2,10}.up"));
}

TEST(JoinNumberedNames, JoinsOnePieceAfterAnotherFromTheLast) {
  // Experts 0 and 1 of both layers join into {0-1} first, then the equal lines of the layers.
  EXPECT_THAT(JoinNumberedNames({"l.3.e.0.w", "l.3.e.1.w", "l.4.e.0.w", "l.4.e.1.w"}),
              ElementsAre("l.{3-4}.e.{0-1}.w"));
}

TEST(JoinNumberedNames, NeverClaimsANameThatIsNotThere) {
  // Layer 4 has expert 0 only, so the layers cannot join.
  EXPECT_THAT(JoinNumberedNames({"l.3.e.0", "l.3.e.1", "l.4.e.0"}),
              ElementsAre("l.3.e.{0-1}", "l.4.e.0"));
}

TEST(JoinNumberedNames, LeavesNumbersThatAreTextAlone) {
  EXPECT_THAT(JoinNumberedNames({"a.01.b", "a.1.b", "a.2.b", "a.-1.b"}),
              ElementsAre("a.01.b", "a.{1-2}.b", "a.-1.b"));
}

TEST(JoinNumberedNames, TakesNamesWithoutDotsAndNoneAtAll) {
  EXPECT_THAT(JoinNumberedNames({"w", ""}), ElementsAre("w", ""));
  EXPECT_THAT(JoinNumberedNames({}), IsEmpty());
}

TEST(CoverByPrefix, FindsTheShortestPrefixThatNothingElseHas) {
  const std::vector<std::string> others = {"model.layers.6.norm", "model.layers.60.norm",
                                           "model.norm"};
  EXPECT_THAT(CoverByPrefix({"model.layers.61.mlp.up", "model.layers.61.norm"}, others),
              ElementsAre(CoveredNames{"model.layers.61.*", 2}));
}

TEST(CoverByPrefix, NamesASingleOneInFull) {
  EXPECT_THAT(CoverByPrefix({"draft.weight", "model.bias"}, {"model.weight"}),
              ElementsAre(CoveredNames{"draft.weight", 1}, CoveredNames{"model.bias", 1}));
}

TEST(CoverByPrefix, CoversAWholeModel) {
  EXPECT_THAT(CoverByPrefix({"model.a", "model.b.c", "head"}, {}),
              ElementsAre(CoveredNames{"head", 1}, CoveredNames{"model.*", 2}));
}

}  // namespace
}  // namespace reshard
