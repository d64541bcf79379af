// Round numbers along an axis, and what to write beside them.
#pragma once

#include <string>
#include <vector>

namespace reshard {

// 0, step, 2 step, .. up to `most`, with the least step of 1, 2 or 5 times a power of ten that
// gives at most `count` (>= 3) ticks above 0. {0} if `most` is not above 0.
std::vector<double> AxisTicks(double most, int count);

// All `ticks` in the unit of the largest: "0", "50 ms", "100 ms".
std::vector<std::string> TimeLabels(const std::vector<double>& seconds);
std::vector<std::string> ByteLabels(const std::vector<double>& bytes);

}  // namespace reshard
