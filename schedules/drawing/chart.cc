#include "schedules/drawing/chart.h"

#include <fmt/format.h>

#include <cstddef>

#include "schedules/drawing/axis_ticks.h"
#include "schedules/drawing/binding_resource.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr double kMargin = 20;
constexpr double kSecondsPerNanosecond = 1e-9;

}  // namespace

Result<std::vector<DomainFrame>> FramesOf(const Plan& plan, const Cluster& cluster) {
  for (const Rank& rank : plan.job.ranks) {
    if (rank.domain < 0 || rank.domain >= static_cast<std::int32_t>(cluster.domains.size())) {
      return InputError("cluster", fmt::format("it has no domain {}", rank.domain),
                        "give the cluster the plan was made for");
    }
  }
  const BindingResource binding = BindingOf(plan.certificate.lower_bound);
  return MakeFrames(SumByDomain(plan, cluster, {}), BindingDomain(binding, cluster));
}

std::string FrameName(const DomainFrame& frame) {
  std::string name =
      fmt::format("domain{} {}", frame.domains.size() > 1 ? "s" : "", RangesText(frame.domains));
  for (const std::string& role : FrameRoles(frame)) name += ", " + role;
  return name;
}

double AddHeader(const Plan& plan, const ReplayRecord& record, const std::string& title,
                 SvgPicture& picture) {
  double y = 28;
  picture.AddText(kMargin, y, title, {.size = 16, .bold = true});
  y += 20;
  std::string times =
      "predicted " + SecondsText(static_cast<double>(record.end_ns) * kSecondsPerNanosecond);
  const BoundWitness& bound = plan.certificate.lower_bound;
  if (bound.seconds > 0) times += ", lower bound " + SecondsText(bound.seconds);
  picture.AddText(kMargin, y, times);
  if (bound.seconds > 0) {
    y += 17;
    picture.AddText(kMargin, y, "binding: " + bound.description, {.color = kBindingColor});
  }
  return y + 14;
}

void AddLegend(double x, double y, const std::vector<LegendEntry>& entries, SvgPicture& picture) {
  constexpr double kSquare = 10;
  for (const LegendEntry& entry : entries) {
    picture.AddRectangle(x, y - kSquare + 1, kSquare, kSquare, entry.color);
    const TextStyle style;
    picture.AddText(x + kSquare + 5, y, entry.text, style);
    x += kSquare + 5 + SvgPicture::TextWidth(entry.text, style) + 18;
  }
}

void AddTimeAxis(const PlotArea& area, std::int64_t end_ns, SvgPicture& picture) {
  const double end = static_cast<double>(end_ns) * kSecondsPerNanosecond;
  const std::vector<double> ticks = AxisTicks(end, 8);
  const std::vector<std::string> labels = TimeLabels(ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = area.left + (end > 0 ? area.width * ticks[i] / end : 0);
    picture.AddLine(x, area.top, x, area.bottom() + 4, kGridColor);
    picture.AddText(x, area.bottom() + 17, labels[i],
                    {.size = 11, .anchor = TextAnchor::kMiddle, .color = "#546e7a"});
  }
}

}  // namespace reshard
