// What one element of a conversion reads and writes; shared by the host twin and the device kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conversion_arithmetic.h"

namespace reshard {

enum class ConversionElement : std::uint8_t { kF32, kBF16, kF16, kF8E4M3, kE8M0 };

enum class ConversionFunction : std::uint8_t {
  kCast,                 // the number itself, rounded
  kNegativeExponential,  // -exp(x)
  kPlusOne,              // x + 1
  kMinusOne,             // x - 1
  kBlockValues,          // x over the scale of its block
  kBlockScales,          // the scale of a block
};

inline constexpr bool IsOfBlocks(ConversionFunction function) {
  return function == ConversionFunction::kBlockValues ||
         function == ConversionFunction::kBlockScales;
}

inline constexpr std::int64_t BytesOf(ConversionElement element) {
  switch (element) {
    case ConversionElement::kF32:
      return 4;
    case ConversionElement::kBF16:
    case ConversionElement::kF16:
      return 2;
    case ConversionElement::kF8E4M3:
    case ConversionElement::kE8M0:
      return 1;
  }
  return 1;
}

// The number behind the bits of an element of F32, BF16 or F16.
inline constexpr float NumberOf(ConversionElement element, std::uint32_t bits) {
  if (element == ConversionElement::kBF16) return F32FromBF16(static_cast<std::uint16_t>(bits));
  if (element == ConversionElement::kF16) return F32FromF16(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

// The bits of `value`, rounded to an element of any kind but E8M0.
inline constexpr std::uint32_t BitsOf(ConversionElement element, float value) {
  switch (element) {
    case ConversionElement::kBF16:
      return BF16FromF32(value);
    case ConversionElement::kF16:
      return F16FromF32(value);
    case ConversionElement::kF8E4M3:
      return E4M3FromF32(value);
    case ConversionElement::kF32:
    case ConversionElement::kE8M0:
      break;
  }
  return MagnitudeBits(value) > kF32Infinity ? kF32Nan : std::bit_cast<std::uint32_t>(value);
}

// A function of one number alone.
inline constexpr float ApplyToNumber(ConversionFunction function, float value) {
  switch (function) {
    case ConversionFunction::kNegativeExponential:
      return NegativeExponential(value);
    case ConversionFunction::kPlusOne:
      return value + 1.0F;
    case ConversionFunction::kMinusOne:
      return value - 1.0F;
    case ConversionFunction::kCast:
    case ConversionFunction::kBlockValues:
    case ConversionFunction::kBlockScales:
      break;
  }
  return value;
}

}  // namespace reshard
