// One cheap, good mixing of 64 bits, for content digests and trial contents.
#pragma once

#include <cstdint>

namespace reshard {

// Odd, near 2^64 / golden ratio: successive multiples are spread evenly (Weyl sequence).
inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15u;

// A bijection of 64 bits in which every bit of the input moves every bit of the output with a
// probability near one half. The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014; constants: Stafford's variant 13).
inline constexpr std::uint64_t Mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace reshard
