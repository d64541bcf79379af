#include "schedules/drawing/axis_ticks.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace reshard {
namespace {

struct Unit {
  double size;
  std::string_view name;
};

// The largest of ascending `units` that is not above `most`, or else the first.
template <std::size_t kCount>
const Unit& UnitFor(double most, const std::array<Unit, kCount>& units) {
  const Unit* fitting = &units.front();
  for (const Unit& unit : units) {
    if (most >= unit.size * (1 - 1e-9)) fitting = &unit;
  }
  return *fitting;
}

template <std::size_t kCount>
std::vector<std::string> Labels(const std::vector<double>& ticks,
                                const std::array<Unit, kCount>& units) {
  const Unit& unit = UnitFor(ticks.empty() ? 0 : ticks.back(), units);
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(tick == 0 ? "0" : fmt::format("{:.4g} {}", tick / unit.size, unit.name));
  }
  return labels;
}

}  // namespace

std::vector<double> AxisTicks(double most, int count) {
  if (!(most > 0)) return {0};
  double power = std::pow(10, std::floor(std::log10(most / count)));
  double step = 0;
  for (int i = 0; step == 0; ++i) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (step == 0 && most / (factor * power) <= count * (1 + 1e-9)) step = factor * power;
    }
    power *= 10;
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= most * (1 + 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<std::string> TimeLabels(const std::vector<double>& seconds) {
  static constexpr std::array<Unit, 4> kUnits{{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
  return Labels(seconds, kUnits);
}

std::vector<std::string> ByteLabels(const std::vector<double>& bytes) {
  static constexpr std::array<Unit, 6> kUnits{
      {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}}};
  return Labels(bytes, kUnits);
}

}  // namespace reshard
