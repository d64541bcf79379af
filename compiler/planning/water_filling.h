// Balanced splitting: each request's bytes are dealt out over its candidates such that the fullest
// candidate, in time, is as little full as can be, then the next fullest, and so on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

// A split is in multiples of this, so that columns begin aligned.
inline constexpr std::int64_t kSplitAlignmentBytes = 16;
inline std::int64_t AlignDown(std::int64_t bytes) {
  return bytes / kSplitAlignmentBytes * kSplitAlignmentBytes;
}
inline std::int64_t AlignUp(std::int64_t bytes) {
  return AlignDown(bytes + kSplitAlignmentBytes - 1);
}

struct SplitRequest {
  std::int64_t bytes = 0;
  std::vector<std::int32_t> candidates;  // ascending; not empty if bytes > 0
};

// Result[i][k] bytes of request i go to its candidate k. `rates` of 0 take nothing unless all of a
// request's candidates have rate 0 (then it is split evenly). `loads` are the bytes candidates
// carry already, and on return what they carry in all.
//
// Requests are filled narrowest first, then refilled in turn against all others for a few sweeps:
// block descent on the convex sum of load^2 / rate, whose optimum on this polymatroid is also the
// lexicographically least vector of times (Fujishige 1980).
std::vector<std::vector<std::int64_t>> SplitBalanced(std::span<const SplitRequest> requests,
                                                     std::span<const double> rates,
                                                     std::vector<double>& loads);

}  // namespace reshard
