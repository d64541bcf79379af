#include "tools/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "schedules/drawing/axis_ticks.h"
#include "schedules/drawing/markup_text.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

// In SVG user units.
constexpr double kWidth = 720;
constexpr double kHeight = 420;
constexpr double kLeft = 78;
constexpr double kRight = 24;
constexpr double kTop = 76;
constexpr double kBottom = 64;
constexpr double kLegendStep = 150;
constexpr double kLegendY = 50;

std::optional<double> NumberOf(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

// Where each value lies, 0 to 1 along the horizontal axis.
std::vector<double> Positions(const std::vector<std::string>& values) {
  std::vector<double> places;
  for (const std::string& value : values) {
    const std::optional<double> number = NumberOf(value);
    if (!number || (!places.empty() && *number <= places.back())) break;
    places.push_back(*number);
  }
  if (places.size() < values.size()) {  // no ascending numbers
    places.clear();
    for (std::size_t i = 0; i < values.size(); ++i) places.push_back(static_cast<double>(i));
  } else if (places.front() > 0 && places.back() / places.front() > 10) {
    for (double& place : places) place = std::log2(place);
  }
  const double first = places.front();
  const double span = places.back() - first;
  for (double& place : places) place = span > 0 ? (place - first) / span : 0.5;
  return places;
}

class Picture {
 public:
  explicit Picture(const LinePlot& plot) : plot_(plot), places_(Positions(plot.values)) {
    double highest = 0;
    for (const PlotLine& line : plot.lines) {
      for (const std::optional<double>& seconds : line.seconds) {
        highest = std::max(highest, seconds.value_or(0));
      }
    }
    constexpr int kTicks = 5;
    const std::vector<double> ticks = AxisTicks(highest, kTicks);
    if (ticks.size() > 1) tick_ = ticks[1];
    top_ = tick_ * std::max(1.0, std::ceil(highest / tick_ * (1 + 1e-12)));
  }

  std::string Draw() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
        "<text x=\"{2}\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{3}</text>\n",
        kWidth, kHeight, kLeft, EscapeMarkup(plot_.title));
    DrawAxes();
    for (std::size_t line = 0; line < plot_.lines.size(); ++line) DrawLegend(line);
    if (AnyMissing()) DrawLegendOfCrosses();
    // Earlier lines are broader, so that they show below later ones of equal times.
    for (std::size_t line = 0; line < plot_.lines.size(); ++line) {
      DrawLine(plot_.lines[line], static_cast<double>(plot_.lines.size() - 1 - line));
    }
    return text_ + "</svg>\n";
  }

 private:
  double X(std::size_t value) const {
    constexpr double kInset = 30;  // keeps points off the frame
    return kLeft + kInset + places_[value] * (kWidth - kLeft - kRight - 2 * kInset);
  }
  double Y(double seconds) const {
    return kHeight - kBottom - seconds / top_ * (kHeight - kTop - kBottom);
  }

  void DrawAxes() {
    for (double at = 0; at <= top_ * (1 + 1e-9); at += tick_) {
      text_ += fmt::format(
          "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#dddddd\"/>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          kLeft, Y(at), kWidth - kRight, kLeft - 8, Y(at) + 4, TickText(at));
    }
    text_ += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#333333\"/>\n", kLeft, Y(0),
                         kWidth - kRight);
    constexpr double kRoomForText = 46;
    double last = -kRoomForText;
    for (std::size_t value = 0; value < places_.size(); ++value) {
      text_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}v5\" stroke=\"#333333\"/>\n", X(value), Y(0));
      if (X(value) - last < kRoomForText) continue;  // would run into the one before
      last = X(value);
      text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                           X(value), Y(0) + 20, EscapeMarkup(plot_.values[value]));
    }
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                         (kLeft + kWidth - kRight) / 2, kHeight - 18, EscapeMarkup(plot_.quantity));
  }

  // In the unit of the highest tick.
  std::string TickText(double seconds) const {
    struct Unit {
      double seconds;
      const char* name;
    };
    constexpr std::array<Unit, 4> kUnits = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
    std::size_t unit = 0;
    while (unit + 1 < kUnits.size() && top_ < kUnits[unit].seconds) ++unit;
    return fmt::format("{:.4g} {}", seconds / kUnits[unit].seconds, kUnits[unit].name);
  }

  void DrawLegend(std::size_t index) {
    const PlotLine& line = plot_.lines[index];
    const double x = kLeft + static_cast<double>(index) * kLegendStep;
    text_ += fmt::format(
        "<path d=\"M{0:.1f} {1}h24\" stroke=\"{2}\" stroke-width=\"2.5\"/>\n"
        "<circle cx=\"{3:.1f}\" cy=\"{1}\" r=\"4\" fill=\"{2}\"/>\n"
        "<text x=\"{4:.1f}\" y=\"{5}\">{6}</text>\n",
        x, kLegendY, line.colour, x + 12, x + 30, kLegendY + 4, EscapeMarkup(line.name));
  }

  bool AnyMissing() const {
    return std::ranges::any_of(plot_.lines, [](const PlotLine& line) {
      return std::find(line.seconds.begin(), line.seconds.end(), std::nullopt) !=
             line.seconds.end();
    });
  }

  void DrawLegendOfCrosses() {
    const double x = kLeft + static_cast<double>(plot_.lines.size()) * kLegendStep;
    text_ += fmt::format(
        "<path d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\" stroke=\"#333333\" stroke-width=\"2\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">cannot run</text>\n",
        x, kLegendY - 4, x + 16, kLegendY + 4);
  }

  void DrawLine(const PlotLine& line, double broader) {
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < line.seconds.size(); ++i) {
      if (!line.seconds[i]) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", X(i), Y(*line.seconds[i]));
      pen_down = true;
    }
    if (!path.empty()) {
      text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1f}\"/>\n",
                           path, line.colour, 2 + 2 * broader);
    }
    for (std::size_t i = 0; i < line.seconds.size(); ++i) DrawPoint(line, i, 4 + 1.5 * broader);
  }

  void DrawPoint(const PlotLine& line, std::size_t i, double radius) {
    const std::string what = EscapeMarkup(line.name + ", " + plot_.values[i] + ": ");
    if (line.seconds[i]) {
      text_ += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"><title>{}{}</title>"
          "</circle>\n",
          X(i), Y(*line.seconds[i]), radius, line.colour, what, SecondsText(*line.seconds[i]));
      return;
    }
    text_ += fmt::format(
        "<path d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\" stroke=\"{}\" stroke-width=\"2\">"
        "<title>{}cannot run</title></path>\n",
        X(i) - 4, Y(0) - 4, line.colour, what);
  }

  const LinePlot& plot_;
  std::vector<double> places_;
  double tick_ = 1;
  double top_ = 1;
  std::string text_;
};

}  // namespace

std::string DrawLinePlot(const LinePlot& plot) { return Picture(plot).Draw(); }

}  // namespace reshard
