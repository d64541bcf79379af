#include "schedules/drawing/timeline_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drawn_replay.h"
#include "svg_texts.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Drawn(const DrawnReplay& drawn) {
  const Result<std::string> svg = DrawTimelineView(drawn.plan, drawn.cluster, drawn.record);
  EXPECT_TRUE(svg) << ToString(svg.error());
  return svg.value_or("");
}

TEST(TimelineViewTest, FewRanksHaveRowsOfTheirOwn) {
  const std::string svg = Drawn(MakeDrawnReplay(2, 4, 3));
  EXPECT_THAT(svg, HasSubstr(">rank 7</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>rank 0, pack of round 1: 1.000 ms to 1.100 ms</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>rank 7, unpack of round 2: 3.000 ms to 3.500 ms</title>"));
  EXPECT_THAT(svg, HasSubstr(">lower bound</text>"));
  EXPECT_THAT(svg, HasSubstr("predicted 4.000 ms, lower bound 3.000 ms"));
  EXPECT_THAT(svg, HasSubstr(">end of round</text>"));
}

// An exchange takes 0.9 of 2 ms.
TEST(TimelineViewTest, ManyRanksAreSummedUpByDomain) {
  const std::string svg = Drawn(MakeDrawnReplay(2, 40, 1));
  EXPECT_THAT(svg, Not(HasSubstr(">rank 7</text>")));
  EXPECT_THAT(svg, HasSubstr("domain 1, 40 destination ranks"));
  EXPECT_THAT(svg, HasSubstr("mean 45 %"));
  EXPECT_THAT(svg, HasSubstr("mean 50 %"));  // NICs
}

TEST(TimelineViewTest, ARecordOfStepsAloneIsDrawnToo) {
  DrawnReplay drawn = MakeDrawnReplay(2, 4, 3);
  drawn.record.domains.clear();
  drawn.record.rounds.clear();
  const std::string svg = Drawn(drawn);
  EXPECT_THAT(svg, HasSubstr(">rank 7</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("NICs in")));
}

TEST(TimelineViewTest, NoTextCoversAnother) {
  for (const std::int32_t domains : {2, 4, 12, 40}) {
    for (const RoundIndex rounds : {1, 7, 107}) {
      for (const std::int32_t gpus : {1, 6}) {
        EXPECT_EQ(OverlapIn(Drawn(MakeDrawnReplay(domains, gpus, rounds))), "")
            << domains << " domains of " << gpus << ", " << rounds << " rounds";
      }
    }
  }
}

}  // namespace
}  // namespace reshard
