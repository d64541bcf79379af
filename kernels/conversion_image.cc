#include "kernels/conversion_image.h"

#include <algorithm>
#include <map>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

bool IsGathered(const ConvertedBuffer& buffer) {
  if (!IsOfBlocks(buffer.function)) return false;
  std::int64_t elements = 1;
  for (const ConversionDim& dim : buffer.dims) elements *= std::min(dim.block, dim.extent);
  return elements > kSmallBlockElements;
}

// Marks the blocks that bytes [begin, end) of a buffer follow from, and perhaps others near them:
// all of the dims behind the first one along which the range's ends differ.
class BlockMarker {
 public:
  BlockMarker(const ConvertedBuffer& buffer, std::vector<bool>& marked)
      : buffer_(buffer), marked_(marked) {}

  void Mark(std::int64_t begin, std::int64_t end) {
    const std::int64_t bytes = BytesOf(buffer_.to);
    const std::vector<std::int64_t> first = BlockAt(begin / bytes);
    const std::vector<std::int64_t> last = BlockAt((end - 1) / bytes);
    MarkFrom(0, 0, first, last, true);
  }

 private:
  std::int64_t BlocksAlong(std::size_t dim) const {
    return CeilDivide(buffer_.dims[dim].extent, buffer_.dims[dim].block);
  }

  std::vector<std::int64_t> BlockAt(std::int64_t element) const {
    const bool is_scale = buffer_.function == ConversionFunction::kBlockScales;
    std::vector<std::int64_t> block(buffer_.dims.size());
    for (std::size_t d = block.size(); d-- > 0;) {
      const ConversionDim& dim = buffer_.dims[d];
      const std::int64_t count = is_scale ? BlocksAlong(d) : dim.extent;
      block[d] = is_scale ? element % count : element % count / dim.block;
      element /= count;
    }
    return block;
  }

  void MarkFrom(std::size_t dim, std::int64_t number, const std::vector<std::int64_t>& first,
                const std::vector<std::int64_t>& last, bool is_bounded) {
    if (dim == first.size()) {
      marked_[static_cast<std::size_t>(number)] = true;
      return;
    }
    const std::int64_t begin = is_bounded ? first[dim] : 0;
    const std::int64_t end = is_bounded ? last[dim] : BlocksAlong(dim) - 1;
    // Inside one row of blocks a range of values may run over several of its rows of values: it is
    // bounded behind a dim only where both ends are the same, and of values in rows of one.
    const bool is_bounded_behind =
        is_bounded && begin == end &&
        (buffer_.function == ConversionFunction::kBlockScales || buffer_.dims[dim].block == 1);
    for (std::int64_t block = begin; block <= end; ++block) {
      MarkFrom(dim + 1, number * BlocksAlong(dim) + block, first, last, is_bounded_behind);
    }
  }

  const ConvertedBuffer& buffer_;
  std::vector<bool>& marked_;
};

}  // namespace

BuffersLocation AddBuffers(const ConvertedBuffers& buffers, DeviceImage& image) {
  return {image.AddBytes(std::as_bytes(buffers.rows())),
          image.AddBytes(std::as_bytes(buffers.dims()))};
}

ConversionLocation AddConversions(const CopyTable& copies, const ConvertedBuffers& buffers,
                                  const BuffersLocation& location, DeviceImage& image) {
  ConversionLocation added;
  added.copies = image.Add(copies);
  added.buffers = location;
  std::vector<std::int64_t> first_words(static_cast<std::size_t>(copies.size()), -1);
  std::map<BaseIndex, std::vector<bool>> marked;  // blocks of each buffer
  std::map<BaseIndex, std::int64_t> first_word;
  for (std::int64_t i = 0; i < copies.size(); ++i) {
    const StridedCopy copy = copies[i];
    const ConvertedBuffer buffer = buffers[copy.source_base];
    if (!IsGathered(buffer)) continue;
    std::vector<bool>& blocks = marked[copy.source_base];
    if (blocks.empty()) {
      blocks.resize(static_cast<std::size_t>(BlockCount(buffer)), false);
      first_word[copy.source_base] = added.scratch_words;
      added.scratch_words += BlockCount(buffer);
    }
    std::int64_t end = copy.source_offset + copy.run;
    for (const StridedDim& dim : copy.dims) end += (dim.count - 1) * dim.source_stride;
    BlockMarker(buffer, blocks).Mark(copy.source_offset, end);
    first_words[static_cast<std::size_t>(i)] = first_word[copy.source_base];
  }
  std::vector<BlockTask> tasks;
  for (const auto& [buffer, blocks] : marked) {
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (!blocks[block]) continue;
      const auto number = static_cast<std::int64_t>(block);
      tasks.push_back({number, first_word[buffer] + number, buffer, 0});
    }
  }
  added.first_words = image.AddBytes(std::as_bytes(std::span<const std::int64_t>(first_words)));
  added.tasks = image.AddBytes(std::as_bytes(std::span<const BlockTask>(tasks)));
  added.task_count = static_cast<std::int64_t>(tasks.size());
  return added;
}

}  // namespace reshard
