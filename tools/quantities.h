// Numbers as people read them, each with its unit: "673.2 GB", "1,024 MiB", "227.0 ms", "90,427".
//
// Amounts of data count in powers of 1000, as rates do (GB/s); memory counts in MiB, as its options
// do. Four significant digits: enough to compare two plans, few enough to read.
#pragma once

#include <cstdint>
#include <string>

namespace reshard {

// "0 B", "999 B", "1.234 kB", "673.2 GB". `bytes` is not negative.
std::string DataAmount(std::int64_t bytes);

// Whole MiB where it is one, else one decimal below 1,000 MiB: "2,048 MiB", "1.5 MiB".
std::string MemoryAmount(std::int64_t bytes);

// "0 s", "14.20 us", "227.0 ms", "1.447 s", "1,234 s". `seconds` is finite and not negative.
std::string Duration(double seconds);

// "48 GB/s", "13.5 GB/s". `gigabytes_per_second` is finite and not negative.
std::string Rate(double gigabytes_per_second);

// A share of one as a percentage with one decimal: 0.0362 -> "3.6 %".
std::string Percentage(double share);

// Digits in groups of three: "90,427".
std::string Count(std::int64_t count);

// Count and noun, the noun in the singular for one: "1 tensor", "90,427 tensors", "3 classes".
std::string Counted(std::int64_t count, const std::string& singular, const std::string& plural);

}  // namespace reshard
