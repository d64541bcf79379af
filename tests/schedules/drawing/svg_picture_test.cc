#include "schedules/drawing/svg_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "svg_texts.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

TEST(SvgPictureTest, WritesWhatIsAdded) {
  SvgPicture picture(100);
  picture.AddRectangle(1, 2.5, 30, 4.126, "#123456", "a & b");
  picture.AddLine(0, 0, 10, -0.001, "#000000", true);
  picture.AddArea({{1, 5}, {3, 4}}, 9, "#ff0000");
  picture.AddText(5, 20, "<tag>", {.size = 10, .anchor = TextAnchor::kEnd, .bold = true});
  const std::string svg = picture.Take(50);
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 100 50\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"1\" y=\"2.5\" width=\"30\" height=\"4.13\" "
                             "fill=\"#123456\"><title>a &amp; b</title></rect>"));
  EXPECT_THAT(svg, HasSubstr("x2=\"10\" y2=\"0\" stroke=\"#000000\" stroke-dasharray"));
  EXPECT_THAT(svg, HasSubstr("d=\"M1 9L1 5L3 4L3 9Z\""));
  EXPECT_THAT(svg, HasSubstr("text-anchor=\"end\" fill=\"#263238\" font-weight=\"bold\">"
                             "&lt;tag&gt;</text>"));
}

TEST(SvgPictureTest, TheTestsOwnEyesSeeTextsThatCoverEachOther) {
  SvgPicture apart(100);
  apart.AddText(0, 20, "one");
  apart.AddText(40, 20, "two");
  EXPECT_EQ(OverlapIn(apart.Take(50)), "");
  apart.AddText(45, 25, "three");
  EXPECT_EQ(OverlapIn(apart.Take(50)), "'two' covers 'three'");
  SvgPicture outside(100);
  outside.AddText(90, 20, "too long");
  EXPECT_EQ(OverlapIn(outside.Take(50)), "'too long' leaves the picture");
}

}  // namespace
}  // namespace reshard
