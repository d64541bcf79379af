// Conversions: tensors that are computed from what the source holds.
//
// A converted tensor is a logical tensor like any other: demand, bounds and transfers count its
// bytes, those after the conversion. Its elements are a pure function of elements of its origin,
// which the job does not move under that form.
//
// On the source side its regions lie in computed parameters. Such a parameter has no memory: each
// element follows from elements of a stored parameter of the same rank, whenever and wherever it is
// read. So whatever cuts it, every rank that holds the same origin gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/dtype.h"
#include "schedules/region_table.h"

namespace reshard {

// kernels/conversion_arithmetic.h has the arithmetic. Values are F8_E4M3; scales are F32 of
// kBlock*, U8 (E8M0) of the others.
enum class ConversionKind : std::uint8_t {
  kCast,                 // the number itself, rounded to nearest even
  kNegativeExponential,  // -exp(x)
  kPlusOne,              // x + 1
  kMinusOne,             // x - 1
  kBlockValues,          // x / s, s = amax / 448 of its block
  kBlockScales,          // s
  kFloorValues,          // x / 2^e, e = floor(log2(amax)) - 8
  kFloorScales,          // e
  kRceilValues,          // x / 2^e, e = ceil(log2(amax / 448))
  kRceilScales,          // e
};
inline constexpr int kConversionKindCount = 10;

// "cast", "-exp(x)", "block values", ..
std::string_view Name(ConversionKind kind);
// Whether an element follows from its whole block.
bool IsOfBlocks(ConversionKind kind);
// Whether there is one element per block.
bool IsOfScales(ConversionKind kind);
// Whether `from` can be converted to `to`.
bool Converts(ConversionKind kind, DType from, DType to);

// What a tensor of the job is computed from. Of blocks: a value tensor has the origin's shape, a
// scale tensor ceil(shape / block); blocks at an edge are as if filled up with zeros.
struct ConvertedTensor {
  TensorIndex tensor = 0;
  ConversionKind kind = ConversionKind::kCast;
  std::string origin;  // its name; the job may move a tensor of this name too, unconverted
  DType origin_dtype = DType::kBF16;
  std::vector<std::int64_t> origin_shape;
  std::vector<std::int64_t> block;  // per dim of the origin; empty unless of blocks
  bool operator==(const ConvertedTensor&) const = default;
};

// A computed parameter of a layout: its elements, row-major, follow from a box of elements of a
// stored one. Box and stored parameter are counted in source elements:
//   offset + sum_d i_d * stride_d,  i_d in [0, extent_d).
// Not of blocks: one dim of stride 1, element i from the box's element i. Of blocks: the box is
// whole blocks of the origin, an end of the origin counting as one, and has its dims; one region,
// row-major, is the whole parameter.
struct Conversion {
  ParameterIndex parameter = 0;  // the computed one
  ParameterIndex source = 0;     // the stored one
  ConversionKind kind = ConversionKind::kCast;
  std::int64_t offset = 0;
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> block;  // per dim; empty unless of blocks
  bool operator==(const Conversion&) const = default;

  // Of dim `dim` of the computed parameter's box: elements, or blocks of scales.
  std::int64_t Count(std::size_t dim) const;
};

// Per parameter of a layout of `parameter_count`, whether it is computed.
std::vector<bool> ComputedParameters(const std::vector<Conversion>& conversions,
                                     std::size_t parameter_count);

}  // namespace reshard
