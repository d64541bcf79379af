// Conversions as data: buffers whose bytes lie nowhere but follow from those of another buffer.
//
// A converted buffer is dense and row-major, and each of its elements is a pure function of
// elements of a source buffer: of the one in the same place, or of the block that it is in. So a
// copy out of it is a strided copy like any other (copy_table.h), whose source base is the
// converted buffer's number; any window of it, cut anywhere, has the same bytes.
//
// Source elements are those of a box of any number of dims, outermost first:
//   offset + sum_d i_d * stride_d,  i_d in [0, extent_d)   bytes into the source base.
// A conversion of blocks cuts the box into blocks of block_d along each dim, the last of a dim as
// if it were filled up with zeros. Values have the box's extents, scales ceil(extent_d / block_d).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "kernels/conversion_element.h"
#include "kernels/copy_table.h"

namespace reshard {

struct ConversionDim {
  std::int64_t extent = 0;
  std::int64_t stride = 0;  // bytes
  std::int64_t block = 1;   // elements; of conversions of blocks
  bool operator==(const ConversionDim&) const = default;
};

struct ConvertedBuffer {
  ConversionFunction function = ConversionFunction::kCast;
  BlockScaleRule rule = BlockScaleRule::kAmax;  // of blocks
  ConversionElement from = ConversionElement::kF32;
  ConversionElement to = ConversionElement::kF32;
  BaseIndex base = 0;       // of the source
  std::int64_t offset = 0;  // bytes
  std::span<const ConversionDim> dims;
};

class ConvertedBuffers {
 public:
  // A buffer as it is stored, fit to be copied to a device as it is.
  struct Row {
    std::int64_t offset = 0;
    std::int64_t first_dim = 0;  // in dims()
    std::int32_t dim_count = 0;
    BaseIndex base = 0;
    ConversionFunction function = ConversionFunction::kCast;
    BlockScaleRule rule = BlockScaleRule::kAmax;
    ConversionElement from = ConversionElement::kF32;
    ConversionElement to = ConversionElement::kF32;
    bool operator==(const Row&) const = default;
  };

  // The buffers' numbers count up from 0.
  void Add(const ConvertedBuffer& buffer);

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  bool empty() const { return rows_.empty(); }
  ConvertedBuffer operator[](std::int64_t index) const;

  std::span<const Row> rows() const { return rows_; }
  std::span<const ConversionDim> dims() const { return dims_; }
  bool operator==(const ConvertedBuffers&) const = default;

 private:
  std::vector<Row> rows_;
  std::vector<ConversionDim> dims_;
};

// Bytes of a buffer that CheckBuffers() has passed.
std::int64_t ConvertedBytes(const ConvertedBuffer& buffer);
// Blocks of such a buffer; 0 if its conversion is not of blocks.
std::int64_t BlockCount(const ConvertedBuffer& buffer);

// Whether every buffer is one: extents and blocks of at least 1, strides too where an extent is
// more than 1, element types its function has, source elements inside their base (base b has
// base_bytes[b] bytes), no more than it has, and aligned as they should be.
Result<void> CheckBuffers(const ConvertedBuffers& buffers,
                          std::span<const std::int64_t> base_bytes);

// Whether every byte that `copies` read and write lies in its converted buffer and base.
// Precondition: CheckBuffers().
Result<void> CheckConversions(const CopyTable& copies, const ConvertedBuffers& buffers,
                              std::span<const std::int64_t> base_bytes);

// The host twin: runs `copies`, whose source bases number `buffers`. Preconditions: both checks
// hold for the buffers behind `bases`; nothing that a copy writes is a source of `buffers`.
void RunConversions(const CopyTable& copies, const ConvertedBuffers& buffers,
                    std::span<std::byte* const> bases);

}  // namespace reshard
