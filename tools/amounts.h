// Amounts as people read them, beyond those that descriptions of plans need
// (schedules/number_text.h).
#pragma once

#include <cstdint>
#include <string>

namespace reshard {

// Memory counts in MiB, as its options do: "2,048 MiB", "1.5 MiB", "0.500 MiB".
std::string MemoryText(std::int64_t bytes);

// "48 GB/s", "13.5 GB/s". `gigabytes_per_second` is finite and not negative.
std::string RateText(double gigabytes_per_second);

// A share of one with one decimal: 0.0362 -> "3.6 %".
std::string PercentText(double share);

// Count and noun: "1 class", "1,353 classes".
std::string CountedText(std::int64_t count, const std::string& singular, const std::string& plural);

}  // namespace reshard
