#include "schedules/drawing/class_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Drawn(const Plan& plan, ClassIndex demand_class, DrawingFormat format) {
  const auto drawing = DrawClassView(plan, demand_class, format);
  EXPECT_TRUE(drawing.has_value()) << ToString(drawing.error());
  return drawing.value_or("");
}

TEST(ClassViewTest, HopsAreArrowsWithTheirRounds) {
  // Class 0 goes 0 -> 2 from round 0 and 2 -> 1 from round 1, both between domains.
  const std::string dot = Drawn(SmallPlan(), 0, DrawingFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("class 0: 72 B in 2 fragments of 2 tensors"));
  EXPECT_THAT(dot, HasSubstr("column 0: 72 B in 4 chunks"));
  EXPECT_THAT(dot, HasSubstr("label=\"rank 0\nholder\""));
  EXPECT_THAT(dot, HasSubstr("label=\"rank 2\nneeder\""));
  EXPECT_THAT(dot, HasSubstr("ranks_0 -> ranks_2"));
  EXPECT_THAT(dot, HasSubstr("ranks_2 -> ranks_1"));
  EXPECT_THAT(dot, Not(HasSubstr(">2</td>")));
}

TEST(ClassViewTest, LocalMovesAreNamed) {
  EXPECT_THAT(Drawn(SmallPlan(), 2, DrawingFormat::kDot), HasSubstr("moved by 1 themselves"));
}

TEST(ClassViewTest, EqualLeavesAreDrawnAsOne) {
  // Rank 0 sends column 1 straight to ranks 3 and 4, in the same rounds.
  Plan plan = SmallPlan();
  plan.transfers[3] = plan.transfers[1];
  plan.transfers[3].to = 4;
  plan.schedules[4].slots[0].items[0].first_round = 0;
  plan.schedules[3].slots.pop_back();
  const std::string dot = Drawn(plan, 1, DrawingFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("label=\"ranks 3-4\nneeders\""));
  EXPECT_THAT(dot, HasSubstr("ranks_0 -> ranks_1"));
  EXPECT_THAT(dot, Not(HasSubstr("ranks_2")));
}

TEST(ClassViewTest, OfManyColumnsTheLargestAreDrawn) {
  Plan plan = SmallPlan();
  for (std::int64_t i = 0; i < 8; ++i) plan.columns.push_back({0, 0, 0, 10 + i});
  const std::string dot = Drawn(plan, 0, DrawingFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("column 10: 17 B"));
  EXPECT_THAT(dot, Not(HasSubstr("column 4: ")));
  EXPECT_THAT(dot, HasSubstr("6 of 9 columns: the largest"));
}

// Ranks of two domains that pass on to each other stand in one row of the picture, with labelled
// arrows between them: Graphviz freed memory twice where that was the first row.
TEST(ClassViewTest, RelaysThatGoBothWaysAreDrawn) {
  Plan plan = SmallPlan();
  plan.transfers.clear();
  for (const std::size_t rank : {1U, 4U}) plan.job.ranks[rank].domain = 2;
  const auto receive = [&plan](RankIndex from, RankIndex to, ColumnIndex column,
                               RoundIndex first_round) {
    std::vector<Slot>& slots = plan.schedules[static_cast<std::size_t>(to)].slots;
    slots.emplace_back().items.push_back({column, first_round, kFromParameters, 0, false});
    plan.transfers.push_back(
        {from, to, 0, {0, 0, 1}, {static_cast<SlotIndex>(slots.size()) - 1, 0, 1}});
  };
  for (RankIndex twin = 1; twin <= 4; ++twin) {
    const auto column = static_cast<ColumnIndex>(plan.columns.size());
    plan.columns.push_back({0, 0, 0, 72});
    receive(0, twin, column, 0);
    for (RankIndex other = 1; other <= 4; ++other) {
      if (other != twin) receive(twin, other, column, 1);
    }
  }
  EXPECT_THAT(Drawn(plan, 0, DrawingFormat::kSvg), HasSubstr("column 5"));
}

TEST(ClassViewTest, AnSvgIsDrawn) {
  EXPECT_THAT(Drawn(SmallPlan(), 1, DrawingFormat::kSvg), HasSubstr("<svg"));
}

}  // namespace
}  // namespace reshard
