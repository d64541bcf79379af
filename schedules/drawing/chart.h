// What the charts of a plan share: colours, the lines above them, axes.
#pragma once

#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/drawing/domain_frames.h"
#include "schedules/drawing/svg_picture.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "topology/cluster.h"

namespace reshard {

inline constexpr const char* kBindingColor = "#c62828";
inline constexpr const char* kNicInColor = "#0072b2";
inline constexpr const char* kNicOutColor = "#e69f00";
inline constexpr const char* kNvlinkColor = "#009e73";
inline constexpr const char* kGridColor = "#dde3e6";
inline constexpr const char* kAxisColor = "#78909c";
inline constexpr double kChartWidth = 1200;

// Where a chart's data lies in the picture.
struct PlotArea {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// Domains as a chart shows them. Fails where a rank's domain is none of `cluster`'s.
Result<std::vector<DomainFrame>> FramesOf(const Plan& plan, const Cluster& cluster);

// "domain 2, 64 destination ranks".
std::string FrameName(const DomainFrame& frame);

// Writes what the picture shows, the predicted time, the bound and what binds; returns the first
// free y.
double AddHeader(const Plan& plan, const ReplayRecord& record, const std::string& title,
                 SvgPicture& picture);

// Coloured squares with words, from `x` on in one line; `y` is the base line.
struct LegendEntry {
  const char* color;
  std::string text;
};
void AddLegend(double x, double y, const std::vector<LegendEntry>& entries, SvgPicture& picture);

// Grid lines and labels of time below `area`, which shows 0 to `end_ns`.
void AddTimeAxis(const PlotArea& area, std::int64_t end_ns, SvgPicture& picture);

}  // namespace reshard
