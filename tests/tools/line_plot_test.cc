#include "tools/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace reshard {
namespace {

using testing::HasSubstr;
using testing::Not;

// The horizontal places of the points of the plot's only line.
std::vector<double> PlacesOfPoints(const std::string& svg) {
  std::vector<double> places;
  constexpr std::string_view kPoint = "<circle cx=\"";
  bool legend = true;  // the first circle is the legend's
  for (std::size_t at = svg.find(kPoint); at != std::string::npos; at = svg.find(kPoint, at + 1)) {
    if (!legend) places.push_back(std::strtod(svg.c_str() + at + kPoint.size(), nullptr));
    legend = false;
  }
  return places;
}

LinePlot PlotOver(const std::vector<std::string>& values) {
  return {"title",
          "key",
          values,
          {{"line", "red", std::vector<std::optional<double>>(values.size(), 1e-3)}}};
}

TEST(LinePlot, NumbersLieWhereTheyBelong) {
  const std::vector<double> places = PlacesOfPoints(DrawLinePlot(PlotOver({"1", "2", "4"})));
  ASSERT_EQ(places.size(), 3);
  EXPECT_NEAR((places[2] - places[0]) / (places[1] - places[0]), 3, 0.01);
}

TEST(LinePlot, FarApartNumbersLieByPowers) {
  const std::vector<double> places = PlacesOfPoints(DrawLinePlot(PlotOver({"1", "4", "64"})));
  ASSERT_EQ(places.size(), 3);
  EXPECT_NEAR((places[2] - places[0]) / (places[1] - places[0]), 3, 0.01);  // log2: 0, 2, 6
}

TEST(LinePlot, OtherValuesStandSideBySide) {
  for (const std::vector<std::string>& values :
       {std::vector<std::string>{"FULL", "SPINE", "NONE"}, {"4", "1", "2"}}) {
    const std::vector<double> places = PlacesOfPoints(DrawLinePlot(PlotOver(values)));
    ASSERT_EQ(places.size(), 3);
    EXPECT_NEAR((places[2] - places[0]) / (places[1] - places[0]), 2, 0.01);
  }
}

TEST(LinePlot, MarksWhatHasNoTime) {
  LinePlot plot = PlotOver({"1", "2", "3"});
  EXPECT_THAT(DrawLinePlot(plot), Not(HasSubstr("cannot run")));
  plot.lines[0].seconds[1].reset();
  const std::string svg = DrawLinePlot(plot);
  EXPECT_THAT(svg, HasSubstr("<title>line, 2: cannot run</title>"));
  EXPECT_EQ(PlacesOfPoints(svg).size(), 2);
  plot.lines[0].seconds.assign(3, std::nullopt);
  EXPECT_EQ(PlacesOfPoints(DrawLinePlot(plot)).size(), 0);
}

TEST(LinePlot, TextsOfTheUserAreHarmless) {
  LinePlot plot = PlotOver({"<a>&\"b\"\n"});
  plot.title = "<script>";
  const std::string svg = DrawLinePlot(plot);
  EXPECT_THAT(svg, HasSubstr("&lt;a&gt;&amp;&quot;b&quot; "));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(LinePlot, TicksCoverTheHighestPointInRoundNumbers) {
  LinePlot plot = PlotOver({"1", "2"});
  plot.lines[0].seconds = {1.1e-3, 0.9e-3};
  const std::string svg = DrawLinePlot(plot);
  for (const char* tick : {">0 ms<", ">0.5 ms<", ">1 ms<", ">1.5 ms<"}) {
    EXPECT_THAT(svg, HasSubstr(tick));
  }
  EXPECT_THAT(svg, Not(HasSubstr(">2 ms<")));
}

}  // namespace
}  // namespace reshard
