#include "schedules/drawing/load_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drawn_replay.h"
#include "svg_texts.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LoadChartTest, TheMeanOfAFrameIsThatOfItsDomains) {
  DrawnReplay drawn = MakeDrawnReplay(2, 1, 1);
  drawn.record.domains[0].nic_out = {1, 0.5};
  drawn.record.domains[1].nic_out = {0, 0.1};
  const DomainFrame frame{{0, 1}, {}, false};
  EXPECT_THAT(MeanLoad(frame, drawn.record).nic_out,
              testing::ElementsAre(0.5, testing::DoubleEq(0.3)));
}

TEST(LoadChartTest, OnlyWhatCarriesIsDrawn) {
  const DrawnReplay drawn = MakeDrawnReplay(2, 4, 3);
  const Result<std::string> svg = DrawLoadChart(drawn.plan, drawn.cluster, drawn.record);
  ASSERT_TRUE(svg);
  EXPECT_THAT(*svg, HasSubstr(">NICs out</text>"));
  EXPECT_THAT(*svg, HasSubstr(">NVLink</text>"));
  EXPECT_THAT(*svg, HasSubstr(">mean 50 %</text>"));
  DrawnReplay still = drawn;
  for (DomainLoad& load : still.record.domains) {
    load.nvlink.assign(load.nvlink.size(), 0);
  }
  EXPECT_THAT(*DrawLoadChart(still.plan, still.cluster, still.record), Not(HasSubstr("NVLink")));
}

TEST(LoadChartTest, NoTextCoversAnother) {
  for (const std::int32_t domains : {2, 12, 40}) {
    const DrawnReplay drawn = MakeDrawnReplay(domains, 2, 9);
    EXPECT_EQ(OverlapIn(*DrawLoadChart(drawn.plan, drawn.cluster, drawn.record)), "") << domains;
  }
}

}  // namespace
}  // namespace reshard
