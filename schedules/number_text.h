// Numbers and sets of ranks as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace reshard {

// Four significant digits in powers of 1000: "0 B", "999 B", "1.234 kB", "673.2 GB".
std::string BytesText(std::int64_t bytes);

// Seconds with four significant digits: "0 s", "14.20 us", "227.0 ms", "1.447 s".
std::string SecondsText(double seconds);

// Digits in groups of three: "90,427".
std::string CountText(std::int64_t count);

// Sizes of the dims: "[16, 4096]", of no dims "[]".
std::string ShapeText(std::span<const std::int64_t> shape);

// Ascending numbers, equal steps joined: "0-63,128-248 by 8"; "none" if there are none.
std::string RangesText(std::span<const std::int32_t> numbers);

}  // namespace reshard
