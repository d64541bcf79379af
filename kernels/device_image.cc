#include "kernels/device_image.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace reshard {
namespace {

constexpr std::size_t kAlignment = 16;

void AppendTiles(std::int64_t units, std::int64_t tile_units, std::size_t row,
                 std::vector<TableTile>& tiles) {
  for (std::int64_t begin = 0; begin < units; begin += tile_units) {
    tiles.push_back({begin, static_cast<std::int32_t>(std::min(tile_units, units - begin)),
                     static_cast<std::int32_t>(row)});
  }
}

// Units of a row: those of its innermost piece, times the counts of its dims.
template <typename Dim, typename Row>
std::int64_t UnitsOf(std::int64_t units, const Row& row, std::span<const Dim> dims) {
  for (const Dim& dim : dims.subspan(static_cast<std::size_t>(row.first_dim),
                                     static_cast<std::size_t>(row.dim_count))) {
    units *= dim.count;
  }
  return units;
}

}  // namespace

template <typename Element>
std::int64_t DeviceImage::Append(std::span<const Element> elements) {
  static_assert(std::is_trivially_copyable_v<Element> && alignof(Element) <= kAlignment);
  const std::size_t begin = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.resize(begin + elements.size_bytes());
  if (!elements.empty()) {
    std::memcpy(bytes_.data() + begin, elements.data(), elements.size_bytes());
  }
  return static_cast<std::int64_t>(begin);
}

TableLocation DeviceImage::Add(const CopyTable& table) {
  std::vector<TableTile> tiles;
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    const CopyTable::Row& copy = table.rows()[row];
    AppendTiles(UnitsOf(copy.run, copy, table.dims()), kCopyTileBytes, row, tiles);
  }
  return {Append(std::span<const TableTile>(tiles)), Append(table.rows()), Append(table.dims()),
          static_cast<std::int64_t>(tiles.size()), table.size()};
}

TableLocation DeviceImage::Add(const DigestTable& table) {
  std::vector<TableTile> tiles;
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    AppendTiles(UnitsOf(1, table.rows()[row], table.dims()), kDigestTileElements, row, tiles);
  }
  return {Append(std::span<const TableTile>(tiles)), Append(table.rows()), Append(table.dims()),
          static_cast<std::int64_t>(tiles.size()), table.size()};
}

std::int64_t DeviceImage::AddBytes(std::span<const std::byte> bytes) { return Append(bytes); }

}  // namespace reshard
