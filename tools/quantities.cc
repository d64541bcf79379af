#include "tools/quantities.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reshard {
namespace {

// Groups the digits before the decimal point of a plain decimal number by threes.
std::string GroupDigits(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  std::size_t position = digits.find('.');
  if (position == std::string::npos) position = digits.size();
  while (position > first + 3) {
    position -= 3;
    digits.insert(position, ",");
  }
  return digits;
}

// Decimals that leave four significant digits of a number of at least 1.
int Decimals(double value) {
  if (value >= 1000) return 0;
  if (value >= 100) return 1;
  if (value >= 10) return 2;
  return 3;
}

// `value` in the first unit, smallest first and each 1000 times the one before, that leaves fewer
// than four digits before the point; the last unit takes whatever remains. What rounds up to 1000
// (999.97) goes to the next unit.
std::string Scaled(double value, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && value >= 999.95) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", GroupDigits(fmt::format("{:.{}f}", value, Decimals(value))),
                     units[unit]);
}

}  // namespace

std::string DataAmount(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  static constexpr std::array<std::string_view, 5> kUnits = {"kB", "MB", "GB", "TB", "PB"};
  return Scaled(static_cast<double>(bytes) / 1000, kUnits);
}

std::string MemoryAmount(std::int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  const bool whole = bytes % (std::int64_t{1} << 20) == 0;
  if (whole || mebibytes >= 1000) return GroupDigits(fmt::format("{:.0f}", mebibytes)) + " MiB";
  if (bytes < (1 << 20)) return fmt::format("{:.3f} MiB", mebibytes);
  return fmt::format("{:.1f} MiB", mebibytes);
}

std::string Duration(double seconds) {
  if (seconds == 0) return "0 s";
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  return Scaled(seconds * 1e9, kUnits);
}

std::string Rate(double gigabytes_per_second) {
  return fmt::format("{:.4g} GB/s", gigabytes_per_second);
}

std::string Percentage(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string Count(std::int64_t count) { return GroupDigits(std::to_string(count)); }

std::string Counted(std::int64_t count, const std::string& singular, const std::string& plural) {
  return Count(count) + " " + (count == 1 ? singular : plural);
}

}  // namespace reshard
