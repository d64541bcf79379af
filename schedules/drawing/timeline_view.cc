#include "schedules/drawing/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedules/drawing/axis_ticks.h"
#include "schedules/drawing/chart.h"
#include "schedules/drawing/load_chart.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr std::size_t kMaxDrawnRanks = 24;
constexpr double kMargin = 20;
constexpr double kLabelWidth = 110;
constexpr double kValueWidth = 80;
constexpr double kLaneHeight = 11;   // of one rank
constexpr double kBandHeight = 18;   // of a domain's lane
constexpr double kStripHeight = 24;  // of utilisation
constexpr std::size_t kBandBins = 495;

struct LaneLook {
  const char* name;
  int red, green, blue;
};
constexpr std::array<LaneLook, kLaneCount> kLanes{
    {{"pack", 123, 82, 171}, {"exchange", 55, 90, 110}, {"unpack", 176, 94, 20}}};

// White for 0, the lane's own colour for 1; the least share can be seen.
std::string Shade(Lane lane, double share) {
  const LaneLook& look = kLanes[static_cast<std::size_t>(lane)];
  const double strength = share > 0 ? 0.2 + 0.8 * std::min(share, 1.0) : 0;
  const auto mix = [strength](int dark) {
    return static_cast<int>(std::lround(255 + (dark - 255) * strength));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(look.red), mix(look.green), mix(look.blue));
}

class TimelinePicture {
 public:
  TimelinePicture(const Plan& plan, const ReplayRecord& record, std::vector<DomainFrame> frames)
      : plan_(plan), record_(record), frames_(std::move(frames)), steps_(plan.job.ranks.size()) {
    for (const StepTime& step : record.steps) {
      steps_[static_cast<std::size_t>(step.rank)].push_back(&step);
    }
  }

  std::string Draw() {
    const bool by_rank = plan_.job.ranks.size() <= kMaxDrawnRanks;
    const std::string title =
        fmt::format("{} ranks over time, {}", CountText(static_cast<std::int64_t>(steps_.size())),
                    by_rank ? "each with its three lanes" : "lane by lane");
    const double top = AddHeader(plan_, record_, title, picture_) + 12;
    AddLegend(kMargin, top, Legend(by_rank), picture_);
    const double first = top + 30;
    double y = first;
    for (const DomainFrame& frame : frames_) {
      picture_.AddText(kMargin, y, FrameName(frame),
                       {.color = frame.is_binding ? kBindingColor : "#263238", .bold = true});
      y += 8;
      y = by_rank ? AddRanks(frame, y) : AddBands(frame, y);
      if (!record_.domains.empty()) {
        y = AddLoadStrips(frame, plan_, record_, {Left(), y + 2, Width(), kStripHeight}, picture_);
      }
      y += 22;
    }
    y -= 14;
    AddTimeAxis({Left(), y, Width(), 0}, record_.end_ns, picture_);
    AddRoundAxis(y + 34);
    AddBound(first, y);
    return picture_.Take(y + 60);
  }

 private:
  static double Left() { return kMargin + kLabelWidth; }
  static double Width() { return kChartWidth - Left() - kValueWidth - kMargin; }
  double XOf(std::int64_t time_ns) const {
    const auto end = static_cast<double>(std::max<std::int64_t>(record_.end_ns, 1));
    return Left() + Width() * std::min(static_cast<double>(time_ns) / end, 1.0);
  }

  std::vector<LegendEntry> Legend(bool by_rank) const {
    static const std::array<std::string, kLaneCount> kColors{
        Shade(Lane::kPack, 1), Shade(Lane::kExchange, 1), Shade(Lane::kUnpack, 1)};
    std::vector<LegendEntry> legend{
        {kColors[0].c_str(), "pack"},
        {kColors[1].c_str(), "exchange"},
        {kColors[2].c_str(), by_rank ? "unpack; numbers are rounds"
                                     : "unpack; the darker, the more ranks are at a step"},
        {kNicOutColor, "bars: part of the rates in use, 0 to 100 %"}};
    return legend;
  }

  bool IsIn(RankIndex rank, const DomainFrame& frame) const {
    return std::binary_search(frame.domains.begin(), frame.domains.end(),
                              plan_.job.ranks[static_cast<std::size_t>(rank)].domain);
  }

  void AddStep(const StepTime& step, double y) {
    const double x = XOf(step.start_ns);
    const double width = std::max(XOf(step.end_ns) - x, 0.7);
    // Neighbouring rounds differ, so that steps back to back can be told apart; light ones, on
    // which their numbers can be read.
    picture_.AddRectangle(x, y, width, kLaneHeight - 1,
                          Shade(step.lane, step.round % 2 == 0 ? 0.3 : 0.55),
                          fmt::format("rank {}, {} of round {}: {} to {}", step.rank,
                                      kLanes[static_cast<std::size_t>(step.lane)].name, step.round,
                                      SecondsText(static_cast<double>(step.start_ns) * 1e-9),
                                      SecondsText(static_cast<double>(step.end_ns) * 1e-9)));
    const TextStyle style{.size = 9, .anchor = TextAnchor::kMiddle};
    const std::string number = fmt::format("{}", step.round);
    if (width > SvgPicture::TextWidth(number, style) + 4) {
      picture_.AddText(x + width / 2, y + kLaneHeight - 2.5, number, style);
    }
  }

  double AddRanks(const DomainFrame& frame, double y) {
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      const auto rank = static_cast<RankIndex>(index);
      if (!IsIn(rank, frame)) continue;
      // Lanes that a rank never uses take no room.
      std::array<bool, kLaneCount> used{};
      for (const StepTime* step : steps_[index]) used[static_cast<std::size_t>(step->lane)] = true;
      std::array<double, kLaneCount> place{};
      double height = 0;
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        place[lane] = y + height;
        if (used[lane]) height += kLaneHeight;
      }
      height = std::max(height, kLaneHeight);
      picture_.AddRectangle(Left(), y, Width(), height - 1, "#f4f6f7");
      picture_.AddText(Left() - 8, y + height / 2 + 3.5, fmt::format("rank {}", rank),
                       {.size = 11, .anchor = TextAnchor::kEnd});
      for (const StepTime* step : steps_[index]) {
        AddStep(*step, place[static_cast<std::size_t>(step->lane)]);
      }
      y += height + 4;
    }
    return y;
  }

  // Per bin of time, the share of the frame's ranks that are at a step of `lane`.
  std::vector<double> Shares(const DomainFrame& frame, Lane lane) const {
    std::vector<double> shares(kBandBins);
    const auto end = static_cast<double>(std::max<std::int64_t>(record_.end_ns, 1));
    const double bin = end / static_cast<double>(kBandBins);
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      if (!IsIn(static_cast<RankIndex>(index), frame)) continue;
      for (const StepTime* step : steps_[index]) {
        if (step->lane != lane) continue;
        const auto start_ns = static_cast<double>(step->start_ns);
        const auto end_ns = static_cast<double>(step->end_ns);
        for (auto i = static_cast<std::size_t>(start_ns / bin);
             i < kBandBins && static_cast<double>(i) * bin < end_ns; ++i) {
          const double from = std::max(start_ns, static_cast<double>(i) * bin);
          const double to = std::min(end_ns, static_cast<double>(i + 1) * bin);
          shares[i] += std::max(to - from, 0.0) / bin;
        }
      }
    }
    const auto ranks = static_cast<double>(std::max(frame.sum.ranks(), 1));
    for (double& share : shares) share /= ranks;
    return shares;
  }

  double AddBands(const DomainFrame& frame, double y) {
    const double width = Width() / static_cast<double>(kBandBins);
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      const std::vector<double> shares = Shares(frame, static_cast<Lane>(lane));
      const double mean = Mean(shares);
      if (mean == 0) continue;
      picture_.AddText(Left() - 8, y + kBandHeight / 2 + 4, kLanes[lane].name,
                       {.size = 11, .anchor = TextAnchor::kEnd});
      // Equal neighbours are one rectangle.
      for (std::size_t first = 0; first < kBandBins;) {
        const std::string shade = Shade(static_cast<Lane>(lane), shares[first]);
        std::size_t last = first + 1;
        while (last < kBandBins && Shade(static_cast<Lane>(lane), shares[last]) == shade) ++last;
        if (shares[first] > 0) {
          picture_.AddRectangle(Left() + static_cast<double>(first) * width, y,
                                static_cast<double>(last - first) * width, kBandHeight, shade);
        }
        first = last;
      }
      picture_.AddFrame(Left(), y, Width(), kBandHeight, kAxisColor);
      picture_.AddText(Left() + Width() + 8, y + kBandHeight / 2 + 4,
                       fmt::format("mean {:.0f} %", 100 * mean), {.size = 11});
      y += kBandHeight + 4;
    }
    return y;
  }

  static double Mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  }

  // Where rounds end on the rank that is last, as a second axis.
  void AddRoundAxis(double y) {
    std::vector<std::int64_t> ends;
    for (const StepTime& step : record_.steps) {
      if (step.lane != Lane::kExchange) continue;
      const auto round = static_cast<std::size_t>(step.round);
      if (round >= ends.size()) ends.resize(round + 1);
      ends[round] = std::max(ends[round], step.end_ns);
    }
    const TextStyle style{.size = 11, .anchor = TextAnchor::kMiddle, .color = "#546e7a"};
    picture_.AddText(Left() - 8, y, "end of round",
                     {.size = 11, .anchor = TextAnchor::kEnd, .color = "#546e7a"});
    double free = Left();
    for (std::size_t round = 0; round < ends.size(); ++round) {
      if (ends[round] == 0) continue;
      const std::string label = fmt::format("{}", round);
      const double half = SvgPicture::TextWidth(label, style) / 2;
      const double x = XOf(ends[round]);
      if (x - half < free) continue;
      picture_.AddLine(x, y - 16, x, y - 11, kAxisColor);
      picture_.AddText(x, y, label, style);
      free = x + half + 12;
    }
  }

  void AddBound(double top, double bottom) {
    const double seconds = plan_.certificate.lower_bound.seconds;
    if (!(seconds > 0)) return;
    const double x = XOf(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
    picture_.AddLine(x, top - 8, x, bottom, kBindingColor, true);
    picture_.AddText(x - 4, top - 12, "lower bound",
                     {.size = 11, .anchor = TextAnchor::kEnd, .color = kBindingColor});
  }

  const Plan& plan_;
  const ReplayRecord& record_;
  std::vector<DomainFrame> frames_;
  std::vector<std::vector<const StepTime*>> steps_;  // by rank
  SvgPicture picture_{kChartWidth};
};

}  // namespace

Result<std::string> DrawTimelineView(const Plan& plan, const Cluster& cluster,
                                     const ReplayRecord& record) {
  Result<std::vector<DomainFrame>> frames = FramesOf(plan, cluster);
  if (!frames) return tl::unexpected(frames.error());
  return TimelinePicture(plan, record, *std::move(frames)).Draw();
}

}  // namespace reshard
