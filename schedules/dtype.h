// Element types, by safetensors' names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace reshard {

enum class DType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64,
};
inline constexpr int kDTypeCount = 16;

// Bytes of one element, 1..8.
std::int64_t ElementBytes(DType dtype);
// "BF16", "F8_E4M3", ...
std::string_view Name(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);

}  // namespace reshard
