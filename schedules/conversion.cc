#include "schedules/conversion.h"

#include <array>
#include <cstddef>

namespace reshard {
namespace {

bool IsNumber(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

}  // namespace

std::string_view Name(ConversionKind kind) {
  static constexpr std::array<std::string_view, kConversionKindCount> kNames = {
      "cast",         "-exp(x)",      "x + 1",        "x - 1",        "block values",
      "block scales", "floor values", "floor scales", "rceil values", "rceil scales"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool IsOfBlocks(ConversionKind kind) { return kind >= ConversionKind::kBlockValues; }

bool IsOfScales(ConversionKind kind) {
  return kind == ConversionKind::kBlockScales || kind == ConversionKind::kFloorScales ||
         kind == ConversionKind::kRceilScales;
}

bool Converts(ConversionKind kind, DType from, DType to) {
  if (!IsNumber(from)) return false;
  if (!IsOfBlocks(kind)) return IsNumber(to) || to == DType::kF8E4M3;
  if (!IsOfScales(kind)) return to == DType::kF8E4M3;
  return to == (kind == ConversionKind::kBlockScales ? DType::kF32 : DType::kU8);
}

std::int64_t Conversion::Count(std::size_t dim) const {
  if (!IsOfScales(kind)) return extent[dim];
  return extent[dim] / block[dim] + (extent[dim] % block[dim] != 0 ? 1 : 0);
}

std::vector<bool> ComputedParameters(const std::vector<Conversion>& conversions,
                                     std::size_t parameter_count) {
  std::vector<bool> computed(parameter_count, false);
  for (const Conversion& conversion : conversions) {
    computed[static_cast<std::size_t>(conversion.parameter)] = true;
  }
  return computed;
}

}  // namespace reshard
