// From a rank's computed parameters (schedules/conversion.h) to converted buffers that copies can
// be made from (kernels/conversion.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "kernels/content_digest.h"
#include "kernels/conversion.h"
#include "schedules/rank_part.h"

namespace reshard {

// How the kernels name what a plan's conversions are made of; no element where they read and write
// none of that dtype.
std::optional<ConversionElement> ElementOf(DType dtype);
ConversionFunction FunctionOf(ConversionKind kind);
BlockScaleRule RuleOf(ConversionKind kind);  // of conversions of blocks

// One buffer per conversion of the part, in their order. Source parameter p is base
// first_source_base + p; base b has base_bytes[b] bytes. Fails where the part's conversions are
// none of its parameters or read outside of them.
Result<ConvertedBuffers> LowerConversions(const RankPart& part, BaseIndex first_source_base,
                                          std::span<const std::int64_t> base_bytes);

// Takes the copies out of computed parameters from `table` to `converted`, where their source base
// is the number of the converted buffer.
void SplitConversions(const std::vector<Conversion>& conversions, BaseIndex first_source_base,
                      CopyTable& table, CopyTable& converted);

// The computed parameters as they would be if they were stored, in the order of the conversions.
// `addresses` are those of the source parameters, anything for computed ones. Precondition: `part`
// has been lowered.
std::vector<std::vector<std::byte>> ComputeParameters(const RankPart& part,
                                                      std::span<std::byte* const> addresses);

// The digests of a rank's source (content_digest.h), of what it sends: `table` numbers the source
// parameters, computed ones too. Arguments as above.
std::vector<std::uint64_t> DigestSources(const DigestTable& table, const RankPart& part,
                                         std::span<std::byte* const> addresses);

// All elements of a converted tensor of dtype `to`, from all of its origin, row-major.
std::vector<std::byte> ConvertTensor(const ConvertedTensor& converted, DType to,
                                     std::span<const std::byte> origin);

// Where a region of a computed parameter has its origin: a box of the origin tensor in the stored
// parameter, counted in elements.
struct OriginRegion {
  std::int64_t offset = 0;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;
};
OriginRegion OriginOf(const Region& region, const Conversion& conversion);

}  // namespace reshard
