// Copy tables, conversions (conversion_image.h) and digest tables as they lie on a device: bytes to
// be uploaded once.
//
// A table's work is cut into tiles of equal size, each within one row, and a device takes tile
// after tile: one huge row and thousands of tiny ones keep it equally busy. Many tables share one
// image, so a rank uploads once. An image holds no address: it stays right when buffers move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/content_digest.h"
#include "kernels/copy_table.h"

namespace reshard {

// The units [begin, begin + count) of a row, in row-major order of its dims: of a copy its bytes
// (the run is the innermost dim), of a digest box its elements.
struct TableTile {
  std::int64_t begin = 0;
  std::int32_t count = 0;
  std::int32_t row = 0;
  bool operator==(const TableTile&) const = default;
};

// Enough for 4 accesses of 16 bytes by each of 32 threads, four times over: a tile pays for finding
// its row, and a table of 1 MiB still has one for every multiprocessor.
inline constexpr std::int64_t kCopyTileBytes = 8192;
inline constexpr std::int64_t kDigestTileElements = 8192;

// Where one table lies in an image; offsets in bytes, multiples of 16.
struct TableLocation {
  std::int64_t tiles = 0;  // TableTile[tile_count]
  std::int64_t rows = 0;   // CopyTable::Row[row_count] or DigestTable::Row[row_count]
  std::int64_t dims = 0;   // StridedDim[] or DigestDim[]
  std::int64_t tile_count = 0;
  std::int64_t row_count = 0;
  bool operator==(const TableLocation&) const = default;
};

class DeviceImage {
 public:
  // Appends a table. Preconditions: fewer than 2^31 rows; their bytes or elements fit 64 bits.
  TableLocation Add(const CopyTable& table);
  TableLocation Add(const DigestTable& table);
  // Appends anything else; its offset, a multiple of 16.
  std::int64_t AddBytes(std::span<const std::byte> bytes);

  // To be uploaded to memory that is aligned to 16 bytes, as every device allocation is.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <typename Element>
  std::int64_t Append(std::span<const Element> elements);

  std::vector<std::byte> bytes_;
};

}  // namespace reshard
