#include "schedules/drawing/load_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "schedules/drawing/binding_resource.h"

namespace reshard {
namespace {

constexpr double kLabelWidth = 150;
constexpr double kValueWidth = 90;
constexpr double kStripHeight = 30;
constexpr double kStripGap = 6;
constexpr double kMargin = 20;

void AddTo(std::vector<double>& sum, const std::vector<double>& load) {
  if (sum.size() < load.size()) sum.resize(load.size());
  for (std::size_t i = 0; i < load.size(); ++i) sum[i] += load[i];
}

bool Carries(const std::vector<double>& load) {
  return std::any_of(load.begin(), load.end(), [](double share) { return share > 0; });
}

}  // namespace

DomainLoad MeanLoad(const DomainFrame& frame, const ReplayRecord& record) {
  DomainLoad mean;
  for (const std::int32_t domain : frame.domains) {
    const DomainLoad& load = record.domains[static_cast<std::size_t>(domain)];
    AddTo(mean.nic_out, load.nic_out);
    AddTo(mean.nic_in, load.nic_in);
    AddTo(mean.nvlink, load.nvlink);
  }
  const auto count = static_cast<double>(frame.domains.size());
  for (std::vector<double>* load : {&mean.nic_out, &mean.nic_in, &mean.nvlink}) {
    for (double& share : *load) share /= count;
  }
  return mean;
}

void AddLoadStrip(const PlotArea& area, const std::string& name, const std::vector<double>& load,
                  const ReplayRecord& record, const char* color, SvgPicture& picture) {
  picture.AddText(area.left - 8, area.top + area.height / 2 + 4, name,
                  {.size = 11, .anchor = TextAnchor::kEnd});
  const auto end = static_cast<double>(std::max<std::int64_t>(record.end_ns, 1));
  const auto x_at = [&](std::size_t stretch) {
    const double at = static_cast<double>(stretch) * static_cast<double>(record.stretch_ns);
    return area.left + area.width * std::min(at / end, 1.0);
  };
  std::vector<std::pair<double, double>> points;
  double sum = 0;  // share times time
  for (std::size_t i = 0; i < load.size(); ++i) {
    const double y = area.bottom() - area.height * std::min(load[i], 1.0);
    points.emplace_back(x_at(i), y);
    points.emplace_back(x_at(i + 1), y);
    sum += load[i] * static_cast<double>(record.stretch_ns);
  }
  picture.AddArea(points, area.bottom(), color);
  picture.AddFrame(area.left, area.top, area.width, area.height, kAxisColor);
  picture.AddText(area.right() + 8, area.top + area.height / 2 + 4,
                  fmt::format("mean {:.0f} %", 100 * sum / end), {.size = 11});
}

double AddLoadStrips(const DomainFrame& frame, const Plan& plan, const ReplayRecord& record,
                     const PlotArea& row, SvgPicture& picture) {
  const BindingResource binding = BindingOf(plan.certificate.lower_bound);
  const DomainLoad load = MeanLoad(frame, record);
  using Direction = BindingResource::Direction;
  const auto color = [&](const char* usual, Direction direction) {
    const bool binds = frame.is_binding && binding.direction == direction;
    return binds ? kBindingColor : usual;
  };
  double y = row.top;
  const auto add = [&](const char* name, const std::vector<double>& values, const char* fill) {
    if (!Carries(values)) return;
    AddLoadStrip({row.left, y, row.width, row.height}, name, values, record, fill, picture);
    y += row.height + kStripGap;
  };
  add("NICs out", load.nic_out, color(kNicOutColor, Direction::kEgress));
  add("NICs in", load.nic_in, color(kNicInColor, Direction::kIngress));
  add("NVLink", load.nvlink, color(kNvlinkColor, Direction::kBoth));
  return y;
}

Result<std::string> DrawLoadChart(const Plan& plan, const Cluster& cluster,
                                  const ReplayRecord& record) {
  const Result<std::vector<DomainFrame>> frames = FramesOf(plan, cluster);
  if (!frames) return tl::unexpected(frames.error());
  const double left = kMargin + kLabelWidth;
  const double width = kChartWidth - left - kValueWidth - kMargin;
  SvgPicture picture(kChartWidth);
  const double top =
      AddHeader(plan, record, "Utilisation over time, 0 to 100 % of the rates", picture) + 6;
  double y = top;
  for (const DomainFrame& frame : *frames) {
    y += 14;
    picture.AddText(
        kMargin, y, FrameName(frame),
        {.size = 12, .color = frame.is_binding ? kBindingColor : "#263238", .bold = true});
    y = AddLoadStrips(frame, plan, record, {left, y + 6, width, kStripHeight}, picture) + 8;
  }
  AddTimeAxis({left, y, width, 0}, record.end_ns, picture);
  return picture.Take(y + 30);
}

}  // namespace reshard
