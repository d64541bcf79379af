#include "schedules/dtype.h"

#include <array>
#include <cstddef>

namespace reshard {
namespace {

struct Entry {
  std::string_view name;
  std::int64_t bytes;
};

// In the order of DType. Names are safetensors' (its `Dtype` enumeration).
constexpr std::array<Entry, kDTypeCount> kEntries{{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E5M2", 1},
    {"F8_E4M3", 1},
    {"F8_E8M0", 1},
    {"I16", 2},
    {"U16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"I32", 4},
    {"U32", 4},
    {"F32", 4},
    {"F64", 8},
    {"I64", 8},
    {"U64", 8},
}};

}  // namespace

std::int64_t ElementBytes(DType dtype) { return kEntries[static_cast<std::size_t>(dtype)].bytes; }

std::string_view Name(DType dtype) { return kEntries[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (kEntries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace reshard
