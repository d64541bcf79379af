// Converted buffers and the copies out of them as they lie on a device (device_image.h).
//
// The scale of a large block depends on thousands of elements, and its values lie in many tiles. So
// a launch first finds the largest magnitude of every block that its copies touch, in scratch
// memory, and then copies. Blocks of a few elements are looked at by whoever needs one.
#pragma once

#include <cstdint>

#include "kernels/conversion.h"
#include "kernels/device_image.h"

namespace reshard {

// Blocks of up to so many elements are not gathered first.
inline constexpr std::int64_t kSmallBlockElements = 64;

// A block whose largest magnitude is wanted in word `scratch`.
struct BlockTask {
  std::int64_t block = 0;  // row-major number in its buffer
  std::int64_t scratch = 0;
  std::int32_t buffer = 0;
  std::int32_t unused = 0;
  bool operator==(const BlockTask&) const = default;
};

// Offsets in bytes, multiples of 16.
struct BuffersLocation {
  std::int64_t rows = 0;  // ConvertedBuffers::Row[]
  std::int64_t dims = 0;  // ConversionDim[]
};

struct ConversionLocation {
  TableLocation copies;  // source bases number the buffers
  BuffersLocation buffers;
  // int64[row_count]: where in the scratch memory the words of the blocks of each copy's buffer
  // begin, -1 where its blocks are not gathered.
  std::int64_t first_words = 0;
  std::int64_t tasks = 0;  // BlockTask[task_count]
  std::int64_t task_count = 0;
  std::int64_t scratch_words = 0;  // of 4 bytes
};

// Preconditions of both: CheckBuffers() and CheckConversions().
BuffersLocation AddBuffers(const ConvertedBuffers& buffers, DeviceImage& image);
ConversionLocation AddConversions(const CopyTable& copies, const ConvertedBuffers& buffers,
                                  const BuffersLocation& location, DeviceImage& image);

}  // namespace reshard
