// The arithmetic of conversions, number by number: the host twin and the device kernel both compile
// this very text, so that they give equal bits.
//
// Everything is integer arithmetic or single IEEE operations (+, -, *, /, conversion), each rounded
// to nearest even with subnormals kept. Whoever compiles it must not fuse a product with a sum
// (-ffp-contract=off, --fmad=false) and must not flush subnormals. A result that is no number is
// one fixed NaN of its format: PyTorch's own paths differ in the payload.
#pragma once

#include <bit>
#include <cstdint>

namespace reshard {

// How a block's scale follows from its largest magnitude.
enum class BlockScaleRule : std::uint8_t {
  kAmax,   // F32: amax / 448, and 1 where that is 0; value = element * scale
  kFloor,  // E8M0: 2^(floor(log2(amax)) - 8), as OCP Microscaling Formats 1.0 section 6.3 has it
  kRceil,  // E8M0: 2^ceil(log2(amax / 448)), the quotient rounded to F32: nothing saturates
};

inline constexpr float kE4M3Max = 448.0F;
inline constexpr std::uint8_t kE4M3Nan = 0x7F;
inline constexpr std::uint8_t kE8M0Nan = 0xFF;
inline constexpr std::uint32_t kF32Nan = 0x7FC00000;
inline constexpr std::uint32_t kF32Infinity = 0x7F800000;

// ---- Reading and rounding ----------------------------------------------------------------------

inline constexpr std::uint32_t MagnitudeBits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
}

inline constexpr float F32FromBF16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

inline constexpr float F32FromF16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | kF32Infinity | (fraction << 13U));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
  }
  // Subnormal: fraction * 2^-24, exact.
  const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-08F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline constexpr std::uint16_t BF16FromF32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > kF32Infinity) return 0x7FC0;
  // Half of what is cut off, less one where the kept part is even: ties go to even.
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

// `magnitude` (of a number, not 0) as a multiple of 2^quantum, rounded to nearest even.
inline constexpr std::uint32_t RoundedMultiple(std::uint32_t magnitude, std::int32_t quantum) {
  const std::uint32_t field = magnitude >> 23U;
  const std::uint32_t significand = (magnitude & 0x7FFFFFU) | (field == 0 ? 0U : 0x800000U);
  const std::int32_t exponent = (field == 0 ? 1 : static_cast<std::int32_t>(field)) - 150;
  const std::int32_t shift = quantum - exponent;  // significand * 2^exponent = value
  if (shift <= 0) return significand << static_cast<std::uint32_t>(-shift);
  if (shift > 25) return 0;
  const auto cut = static_cast<std::uint32_t>(shift);
  const std::uint32_t kept = significand >> cut;
  const std::uint32_t rest = significand & ((1U << cut) - 1U);
  const std::uint32_t half = 1U << (cut - 1U);
  return kept + ((rest > half || (rest == half && (kept & 1U) != 0)) ? 1U : 0U);
}

// A binary format of `fraction_bits` and a smallest normal of 2^smallest_exponent: the code of a
// magnitude without regard to the largest one. Codes ascend by one from value to value.
inline constexpr std::uint32_t RoundedCode(std::uint32_t magnitude, std::uint32_t fraction_bits,
                                           std::int32_t smallest_exponent) {
  const std::int32_t exponent = static_cast<std::int32_t>(magnitude >> 23U) - 127;
  const std::int32_t above =
      exponent > smallest_exponent ? exponent - smallest_exponent : std::int32_t{0};
  const std::uint32_t multiple = RoundedMultiple(
      magnitude, smallest_exponent + above - static_cast<std::int32_t>(fraction_bits));
  return multiple + (static_cast<std::uint32_t>(above) << fraction_bits);
}

inline constexpr std::uint16_t F16FromF32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  if (magnitude > kF32Infinity) return 0x7E00;
  constexpr std::uint32_t kInfinity = 0x7C00;
  constexpr std::uint32_t kTwoTo16 = 0x47800000;
  const std::uint32_t code = magnitude >= kTwoTo16 ? kInfinity : RoundedCode(magnitude, 10, -14);
  return static_cast<std::uint16_t>(sign | code);
}

// Saturating: what is above the largest number becomes the largest number.
inline constexpr std::uint8_t E4M3FromF32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t sign = (bits >> 24U) & 0x80U;
  if (magnitude > kF32Infinity) return kE4M3Nan;
  constexpr std::uint32_t kLargest = 0x7E;
  const std::uint32_t code = magnitude >= std::bit_cast<std::uint32_t>(kE4M3Max)
                                 ? kLargest
                                 : RoundedCode(magnitude, 3, -6);
  return static_cast<std::uint8_t>(sign | code);
}

// ---- Block scales ------------------------------------------------------------------------------

struct BlockScale {
  float divisor = 1;         // element = E4M3(value / divisor)
  std::uint32_t stored = 0;  // bits of the F32 scale, or the E8M0 byte
};

// 2^(byte - 127); a NaN for the byte that is one.
inline constexpr float F32FromE8M0(std::uint32_t byte) {
  if (byte == kE8M0Nan) return std::bit_cast<float>(kF32Nan);
  return std::bit_cast<float>(byte == 0 ? 0x00400000U : byte << 23U);
}

// Of a block whose largest magnitude has the bits `amax`. Magnitudes compare as their bits do, a
// NaN above all: a block with a NaN has no scale but a NaN.
inline constexpr BlockScale ScaleOfBlock(BlockScaleRule rule, std::uint32_t amax) {
  if (amax > kF32Infinity) {
    return {std::bit_cast<float>(kF32Nan),
            rule == BlockScaleRule::kAmax ? kF32Nan : std::uint32_t{kE8M0Nan}};
  }
  std::uint32_t byte = 0;
  if (rule == BlockScaleRule::kFloor) {
    // 448 = 1.75 * 2^8: the exponents of the two formats' largest numbers differ by 8.
    const std::uint32_t field = amax >> 23U;
    byte = field > 8 ? field - 8 : 0;
  } else {
    const float quotient = std::bit_cast<float>(amax) / kE4M3Max;
    const auto bits = std::bit_cast<std::uint32_t>(quotient);
    if (rule == BlockScaleRule::kAmax) {
      const float scale = bits == 0 ? 1.0F : quotient;
      return {scale, std::bit_cast<std::uint32_t>(scale)};
    }
    const std::uint32_t field = bits >> 23U;
    const std::uint32_t fraction = bits & 0x7FFFFFU;
    // Byte 0 is 2^-127, which as F32 is subnormal with fraction 0x400000.
    const bool up = field == 0 ? fraction > 0x400000U : fraction != 0;
    byte = field + (up ? 1 : 0);
    constexpr std::uint32_t kLargest = 0xFE;
    if (byte > kLargest) byte = kLargest;
  }
  return {F32FromE8M0(byte), byte};
}

inline constexpr std::uint8_t BlockElement(float value, const BlockScale& scale) {
  return E4M3FromF32(value / scale.divisor);
}

// ---- Functions of one number -------------------------------------------------------------------

// -exp(value) in F32, through a double of which all but the last bit or two are right: that is the
// correctly rounded result unless the true one is within 2^-27 of an ulp of a tie.
inline constexpr float NegativeExponential(float value) {
  const std::uint32_t magnitude = MagnitudeBits(value);
  if (magnitude > kF32Infinity) return std::bit_cast<float>(kF32Nan);
  constexpr float kOverflow = 89.0F;     // e^88.73 is the largest F32
  constexpr float kUnderflow = -104.0F;  // e^-103.98 rounds to 0
  if (value > kOverflow) return std::bit_cast<float>(0x80000000U | kF32Infinity);
  if (value < kUnderflow) return -0.0F;
  // value = k * ln 2 + r; k * kLn2High is exact, as kLn2High ends in 21 zero bits.
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double x = value;
  const double scaled = x * kLog2E;
  const auto k = static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
  const double r = (x - k * kLn2High) - k * kLn2Low;
  // Taylor up to r^13 / 13!: |r| < 0.35 leaves 5e-18.
  double sum = 1.0;
  for (std::int32_t n = 13; n >= 1; --n) sum = 1.0 + r * sum / n;
  const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52U);
  return static_cast<float>(-(sum * power));
}

}  // namespace reshard
