// Arithmetic on 64-bit counts, offsets and sizes that inputs decide: overflow is a value, not a
// wrap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace reshard {

inline std::optional<std::int64_t> CheckedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<std::int64_t> CheckedMultiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product of all `factors`; 1 of none (a scalar has one element).
inline std::optional<std::int64_t> CheckedProduct(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    const std::optional<std::int64_t> next = CheckedMultiply(product, factor);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

inline std::int64_t CeilDivide(std::int64_t dividend, std::int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

}  // namespace reshard
