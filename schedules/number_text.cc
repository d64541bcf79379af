#include "schedules/number_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace reshard {
namespace {

// Four significant digits of a number in [1, 1000) or, after rounding, 1000.
std::string FourDigits(double value) {
  const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string BytesText(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  if (std::abs(bytes) < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (std::abs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const std::string digits = FourDigits(std::abs(value));
  return fmt::format("{}{} {}", value < 0 ? "-" : "", digits, kUnits[unit]);
}

std::string SecondsText(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 999.95e-6) return FourDigits(seconds * 1e6) + " us";
  if (seconds < 999.95e-3) return FourDigits(seconds * 1e3) + " ms";
  return FourDigits(seconds) + " s";
}

std::string CountText(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string ShapeText(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string RangesText(std::span<const std::int32_t> numbers) {
  if (numbers.empty()) return "none";
  // Fewer than this many with a step between them are shorter one by one.
  constexpr std::size_t kShortestSteps = 4;
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    const auto step = begin + 1 < numbers.size() ? std::int64_t{numbers[begin + 1]} - numbers[begin]
                                                 : std::int64_t{1};
    std::size_t end = begin + 1;
    while (end < numbers.size() && std::int64_t{numbers[end]} - numbers[end - 1] == step) ++end;
    if (step != 1 && end - begin < kShortestSteps) end = begin + 1;
    if (!text.empty()) text += ",";
    text += fmt::format("{}", numbers[begin]);
    if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
    if (end - begin > 1 && step != 1) text += fmt::format(" by {}", step);
    begin = end;
  }
  return text;
}

}  // namespace reshard
