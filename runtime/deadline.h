// Points in time that lie as far ahead as a caller wants to wait, whatever number it gives.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace reshard {

// Nobody waits longer for a refit, and the steady clock plus it fits 64 bits of nanoseconds.
inline constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24 * 365);

// `wait`, but not below 0 and not above kLongestWait.
inline std::chrono::nanoseconds BoundedWait(std::chrono::nanoseconds wait) {
  return std::clamp(wait, std::chrono::nanoseconds(0), kLongestWait);
}

// So many seconds, bounded likewise. NaN is 0.
inline std::chrono::nanoseconds BoundedSeconds(double seconds) {
  constexpr double kLongest = std::chrono::duration<double>(kLongestWait).count();
  if (!(seconds > 0)) return std::chrono::nanoseconds(0);
  if (seconds >= kLongest) return kLongestWait;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}
inline std::chrono::nanoseconds BoundedSeconds(std::int64_t seconds) {
  constexpr std::int64_t kLongest =
      std::chrono::duration_cast<std::chrono::seconds>(kLongestWait).count();
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kLongest));
}

// BoundedWait from now.
inline std::chrono::steady_clock::time_point DeadlineAfter(std::chrono::nanoseconds wait) {
  return std::chrono::steady_clock::now() + BoundedWait(wait);
}

}  // namespace reshard
