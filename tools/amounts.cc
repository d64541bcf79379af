#include "tools/amounts.h"

#include <fmt/format.h>

#include "schedules/number_text.h"

namespace reshard {

std::string MemoryText(std::int64_t bytes) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  const double mebibytes = static_cast<double>(bytes) / static_cast<double>(kMebibyte);
  if (bytes % kMebibyte == 0) return CountText(bytes / kMebibyte) + " MiB";
  if (mebibytes < 1) return fmt::format("{:.3f} MiB", mebibytes);
  if (mebibytes < 999.95) return fmt::format("{:.1f} MiB", mebibytes);
  return CountText((bytes + kMebibyte / 2) / kMebibyte) + " MiB";
}

std::string RateText(double gigabytes_per_second) {
  return fmt::format("{:.4g} GB/s", gigabytes_per_second);
}

std::string PercentText(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string CountedText(std::int64_t count, const std::string& singular,
                        const std::string& plural) {
  return CountText(count) + " " + (count == 1 ? singular : plural);
}

}  // namespace reshard
