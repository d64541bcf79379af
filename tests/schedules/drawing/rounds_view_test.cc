#include "schedules/drawing/rounds_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "drawn_replay.h"
#include "svg_texts.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Drawn(const DrawnReplay& drawn) {
  const Result<std::string> svg = DrawRoundsView(drawn.plan, drawn.cluster, drawn.record);
  EXPECT_TRUE(svg) << ToString(svg.error());
  return svg.value_or("");
}

// Heights of the bars of one colour, left to right and row by row.
std::vector<double> Heights(const std::string& svg, const std::string& color) {
  const std::regex bar("height=\"([.0-9]+)\" fill=\"" + color + "\"/>");
  std::vector<double> heights;
  for (std::sregex_iterator found(svg.begin(), svg.end(), bar), end; found != end; ++found) {
    heights.push_back(std::stod((*found)[1]));
  }
  return heights;
}

TEST(RoundsViewTest, BarsAreAsHighAsTheirBytes) {
  const std::string svg = Drawn(MakeDrawnReplay(2, 4, 3));
  // A square of the legend, then the rounds of 1, 2 and 3 MB, the last as high as can be.
  const std::vector<double> out = Heights(svg, "#e69f00");
  ASSERT_EQ(out.size(), 4U);
  EXPECT_NEAR(out[1] * 3, out[3], 0.05);
  EXPECT_NEAR(out[2] * 3, out[3] * 2, 0.05);
  const std::vector<double> binding = Heights(svg, "#c62828");
  EXPECT_EQ(std::vector<double>(binding.begin() + 1, binding.end()),
            std::vector<double>(out.begin() + 1, out.end()));
  EXPECT_THAT(svg, HasSubstr("3 rounds of 8 ranks"));
  EXPECT_THAT(svg, HasSubstr("binding: domain 1 ingress"));
  EXPECT_THAT(svg, HasSubstr("domain 0, 4 source ranks"));
  EXPECT_THAT(svg, HasSubstr("nothing over NVLink"));
  EXPECT_THAT(svg, HasSubstr("the longest 1.000 ms"));
  EXPECT_THAT(svg, HasSubstr("the fullest round carries 3.000 MB over NICs"));
  EXPECT_THAT(svg, HasSubstr("the last 0 carry less than nine tenths"));
}

TEST(RoundsViewTest, ManyRoundsShareBars) {
  const std::string svg = Drawn(MakeDrawnReplay(2, 1, 1000));
  EXPECT_THAT(svg, HasSubstr("a bar is the mean of 4"));
  EXPECT_EQ(Heights(svg, "#e69f00").size(), 1U + 250);
}

TEST(RoundsViewTest, WithoutNicsNvlinkTakesTheWidth) {
  DrawnReplay drawn = MakeDrawnReplay(2, 4, 5);
  for (RoundTraffic& round : drawn.record.rounds) {
    round.in.assign(2, 0);
    round.out.assign(2, 0);
  }
  const std::string svg = Drawn(drawn);
  EXPECT_THAT(svg, Not(HasSubstr("over NICs, upwards")));
  EXPECT_THAT(svg, HasSubstr("#009e73"));
  EXPECT_EQ(OverlapIn(svg), "");
}

TEST(RoundsViewTest, NoTextCoversAnother) {
  for (const std::int32_t domains : {2, 4, 12, 40}) {
    for (const RoundIndex rounds : {1, 7, 107, 5000}) {
      EXPECT_EQ(OverlapIn(Drawn(MakeDrawnReplay(domains, 3, rounds))), "")
          << domains << " domains, " << rounds << " rounds";
    }
  }
}

TEST(RoundsViewTest, AForeignClusterIsRefused) {
  DrawnReplay drawn = MakeDrawnReplay(4, 1, 1);
  drawn.cluster.domains.pop_back();
  EXPECT_FALSE(DrawRoundsView(drawn.plan, drawn.cluster, drawn.record));
}

}  // namespace
}  // namespace reshard
