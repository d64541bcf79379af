#include "schedules/drawing/rounds_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/drawing/axis_ticks.h"
#include "schedules/drawing/binding_resource.h"
#include "schedules/drawing/chart.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr double kMargin = 20;
constexpr double kAxisWidth = 62;  // for the labels left of a plot
constexpr double kRowHeight = 96;
constexpr double kBottomHeight = 80;
constexpr double kTitleHeight = 20;
constexpr double kRowGap = 14;
constexpr std::size_t kMaxBars = 256;

// One value per bar.
using Bars = std::vector<double>;

struct FrameBars {
  Bars out;
  Bars in;
  Bars inside;
};

double Largest(const Bars& bars) {
  return bars.empty() ? 0 : *std::max_element(bars.begin(), bars.end());
}

class RoundsPicture {
 public:
  RoundsPicture(const Plan& plan, const ReplayRecord& record, std::vector<DomainFrame> frames)
      : plan_(plan),
        record_(record),
        frames_(std::move(frames)),
        binding_(BindingOf(plan.certificate.lower_bound)),
        per_bar_(std::max<std::size_t>(1, (record.rounds.size() + kMaxBars - 1) / kMaxBars)) {
    for (const DomainFrame& frame : frames_) {
      FrameBars& bars = bars_.emplace_back();
      bars.out = Sum(frame, &RoundTraffic::out);
      bars.in = Sum(frame, &RoundTraffic::in);
      bars.inside = Sum(frame, &RoundTraffic::inside);
      nic_most_ = std::max({nic_most_, Largest(bars.out), Largest(bars.in)});
      nvlink_most_ = std::max(nvlink_most_, Largest(bars.inside));
    }
  }

  std::string Draw() {
    const std::string title = fmt::format(
        "{} round{} of {} ranks: what each carries{}", CountText(RoundCount()),
        RoundCount() == 1 ? "" : "s", CountText(static_cast<std::int64_t>(plan_.job.ranks.size())),
        per_bar_ > 1 ? fmt::format(", a bar is the mean of {}", per_bar_) : "");
    double y = AddHeader(plan_, record_, title, picture_) + 10;
    AddLegend(kMargin, y, Legend(), picture_);
    y += 16;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      AddRow(i, y);
      y += kTitleHeight + kRowHeight + kRowGap;
    }
    return picture_.Take(AddDurations(y) + 44);
  }

 private:
  std::int64_t RoundCount() const { return static_cast<std::int64_t>(record_.rounds.size()); }
  bool HasBoth() const { return nic_most_ > 0 && nvlink_most_ > 0; }

  // The mean of each bar's rounds.
  Bars Mean(const std::vector<double>& by_round) const {
    Bars bars;
    for (std::size_t first = 0; first < by_round.size(); first += per_bar_) {
      const std::size_t last = std::min(by_round.size(), first + per_bar_);
      double sum = 0;
      for (std::size_t round = first; round < last; ++round) sum += by_round[round];
      bars.push_back(sum / static_cast<double>(last - first));
    }
    return bars;
  }

  Bars Sum(const DomainFrame& frame, std::vector<std::int64_t> RoundTraffic::*way) const {
    std::vector<double> by_round;
    for (const RoundTraffic& round : record_.rounds) {
      double bytes = 0;
      for (const std::int32_t domain : frame.domains) {
        bytes += static_cast<double>((round.*way)[static_cast<std::size_t>(domain)]);
      }
      by_round.push_back(bytes);
    }
    return Mean(by_round);
  }

  std::vector<LegendEntry> Legend() const {
    std::vector<LegendEntry> legend;
    if (nic_most_ > 0) {
      legend.push_back({kNicInColor, "in over NICs, upwards"});
      legend.push_back({kNicOutColor, "out over NICs, downwards"});
    }
    if (nvlink_most_ > 0) legend.push_back({kNvlinkColor, "inside the domain, over NVLink"});
    if (binding_.kind != BindingResource::Kind::kNone) legend.push_back({kBindingColor, "binds"});
    return legend;
  }

  PlotArea LeftArea(double top, double height) const {
    const double whole = kChartWidth - 2 * kMargin;
    const double width = HasBoth() ? (whole - kMargin) / 2 : whole;
    return {kMargin + kAxisWidth, top, width - kAxisWidth, height};
  }
  PlotArea RightArea(double top, double height) const {
    PlotArea area = LeftArea(top, height);
    if (HasBoth()) area.left += area.width + kAxisWidth + kMargin;
    return area;
  }

  // From `base` to `base` + `scale` * value.
  void AddBars(const PlotArea& area, const Bars& bars, double base, double scale,
               const char* color) {
    const double width = area.width / static_cast<double>(std::max<std::size_t>(bars.size(), 1));
    const double gap = width > 4 ? 1 : 0;
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const double height = std::abs(scale) * bars[i];
      if (height <= 0) continue;
      picture_.AddRectangle(area.left + static_cast<double>(i) * width,
                            scale < 0 ? base - height : base, width - gap, std::max(height, 0.5),
                            color);
    }
  }

  void AddTickLabel(const PlotArea& area, double y, const std::string& label) {
    picture_.AddLine(area.left, y, area.right(), y, kGridColor);
    picture_.AddText(area.left - 6, y + 4, label,
                     {.size = 11, .anchor = TextAnchor::kEnd, .color = "#546e7a"});
  }

  // Bars up for what comes in, down for what goes out, of one scale in all rows.
  void AddNicPanel(const PlotArea& area, const DomainFrame& frame, const FrameBars& bars) {
    const double zero = area.top + area.height / 2;
    const double scale = area.height / 2 / nic_most_;
    const std::vector<double> ticks = AxisTicks(nic_most_, 3);
    const std::vector<std::string> labels = ByteLabels(ticks);
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      AddTickLabel(area, zero - scale * ticks[i], labels[i]);
      if (i > 0) AddTickLabel(area, zero + scale * ticks[i], labels[i]);
    }
    using Direction = BindingResource::Direction;
    const bool in_binds = frame.is_binding && binding_.direction == Direction::kIngress;
    const bool out_binds = frame.is_binding && binding_.direction == Direction::kEgress;
    AddBars(area, bars.in, zero, -scale, in_binds ? kBindingColor : kNicInColor);
    AddBars(area, bars.out, zero, scale, out_binds ? kBindingColor : kNicOutColor);
    picture_.AddLine(area.left, zero, area.right(), zero, kAxisColor);
  }

  void AddPanel(const PlotArea& area, const Bars& bars, double most, const char* color,
                const std::vector<double>& ticks, const std::vector<std::string>& labels) {
    const double scale = most > 0 ? area.height / most : 0;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      AddTickLabel(area, area.bottom() - scale * ticks[i], labels[i]);
    }
    AddBars(area, bars, area.bottom(), -scale, color);
    picture_.AddLine(area.left, area.bottom(), area.right(), area.bottom(), kAxisColor);
  }

  void AddRow(std::size_t index, double y) {
    const DomainFrame& frame = frames_[index];
    const FrameBars& bars = bars_[index];
    picture_.AddText(kMargin, y + 12, FrameName(frame),
                     {.color = frame.is_binding ? kBindingColor : "#263238", .bold = true});
    const double top = y + kTitleHeight;
    if (nic_most_ > 0) AddNicPanel(LeftArea(top, kRowHeight), frame, bars);
    if (nvlink_most_ == 0) return;
    const PlotArea right = RightArea(top, kRowHeight);
    if (Largest(bars.inside) == 0) {
      picture_.AddText(right.left, right.bottom(), "nothing over NVLink", {.color = "#78909c"});
    } else {
      const bool binds =
          frame.is_binding && binding_.direction == BindingResource::Direction::kBoth;
      const std::vector<double> ticks = AxisTicks(nvlink_most_, 3);
      AddPanel(right, bars.inside, nvlink_most_, binds ? kBindingColor : kNvlinkColor, ticks,
               ByteLabels(ticks));
    }
    if (HasBoth() && index + 1 == frames_.size()) AddRoundLabels(right);
  }

  // Seconds from the latest end of a round before to the latest end of each.
  std::vector<double> Durations() const {
    std::vector<std::int64_t> ends(record_.rounds.size());
    for (const StepTime& step : record_.steps) {
      const auto round = static_cast<std::size_t>(step.round);
      if (step.lane != Lane::kExchange || round >= ends.size()) continue;
      ends[round] = std::max(ends[round], step.end_ns);
    }
    std::vector<double> durations;
    std::int64_t before = 0;
    for (const std::int64_t end : ends) {
      durations.push_back(static_cast<double>(std::max<std::int64_t>(end - before, 0)) * 1e-9);
      before = std::max(before, end);
    }
    return durations;
  }

  double AddDurations(double y) {
    picture_.AddText(kMargin, y + 12, "time from the end of the round before to its own",
                     {.bold = true});
    PlotArea area = LeftArea(y + kTitleHeight, kBottomHeight);
    const Bars bars = Mean(Durations());
    const double most = Largest(bars);
    const std::vector<double> ticks = AxisTicks(most, 3);
    AddPanel(area, bars, most, "#78909c", ticks, TimeLabels(ticks));
    AddRoundLabels(area);
    if (HasBoth()) AddNotes(RightArea(area.top, kBottomHeight), bars);
    return area.bottom();
  }

  void AddRoundLabels(const PlotArea& area) {
    const std::vector<double> ticks =
        AxisTicks(static_cast<double>(std::max<std::int64_t>(RoundCount() - 1, 1)), 10);
    const double width = area.width / static_cast<double>(std::max<std::int64_t>(RoundCount(), 1));
    for (const double tick : ticks) {
      if (tick != std::floor(tick) || tick >= static_cast<double>(RoundCount())) continue;
      picture_.AddText(area.left + (tick + 0.5) * width, area.bottom() + 15,
                       fmt::format("{:.0f}", tick),
                       {.size = 11, .anchor = TextAnchor::kMiddle, .color = "#546e7a"});
    }
    picture_.AddText(area.left + area.width / 2, area.bottom() + 31, "round",
                     {.size = 11, .anchor = TextAnchor::kMiddle, .color = "#546e7a"});
  }

  // What the bars say, in words: the usual round, and the tapering at the end.
  void AddNotes(const PlotArea& area, const Bars& durations) {
    std::vector<double> sorted = durations;
    std::sort(sorted.begin(), sorted.end());
    double y = area.top + 32;  // below the labels of the plot above
    const auto add = [&](const std::string& text) {
      picture_.AddText(area.left, y, text);
      y += 17;
    };
    if (!sorted.empty()) {
      add(fmt::format("half of the rounds take {} or less, the longest {}",
                      SecondsText(sorted[(sorted.size() - 1) / 2]), SecondsText(sorted.back())));
    }
    std::vector<std::int64_t> bytes;
    for (const RoundTraffic& round : record_.rounds) {
      std::int64_t sum = 0;
      for (const std::int64_t out : round.out) sum += out;
      bytes.push_back(sum);
    }
    const auto most = std::max_element(bytes.begin(), bytes.end());
    if (most == bytes.end() || *most == 0) return;
    add(fmt::format("the fullest round carries {} over NICs", BytesText(*most)));
    const auto last_full = std::find_if(bytes.rbegin(), bytes.rend(), [&](std::int64_t carried) {
      return static_cast<double>(carried) > 0.9 * static_cast<double>(*most);
    });
    add(fmt::format("the last {} carry less than nine tenths of that",
                    CountText(last_full - bytes.rbegin())));
  }

  const Plan& plan_;
  const ReplayRecord& record_;
  std::vector<DomainFrame> frames_;
  BindingResource binding_;
  std::size_t per_bar_;
  std::vector<FrameBars> bars_;
  double nic_most_ = 0;
  double nvlink_most_ = 0;
  SvgPicture picture_{kChartWidth};
};

}  // namespace

Result<std::string> DrawRoundsView(const Plan& plan, const Cluster& cluster,
                                   const ReplayRecord& record) {
  Result<std::vector<DomainFrame>> frames = FramesOf(plan, cluster);
  if (!frames) return tl::unexpected(frames.error());
  return RoundsPicture(plan, record, *std::move(frames)).Draw();
}

}  // namespace reshard
