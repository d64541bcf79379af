#include "kernels/device_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace reshard {
namespace {

template <typename Element>
std::vector<Element> ReadAt(const DeviceImage& image, std::int64_t offset, std::size_t count) {
  std::vector<Element> elements(count);
  if (count > 0) {
    std::memcpy(elements.data(), image.bytes().data() + offset, count * sizeof(Element));
  }
  return elements;
}

std::vector<TableTile> TilesOf(const DeviceImage& image, const TableLocation& location) {
  return ReadAt<TableTile>(image, location.tiles, static_cast<std::size_t>(location.tile_count));
}

TEST(DeviceImageTest, CutsEveryRowIntoTilesOfEqualSize) {
  CopyTable table;
  table.Add({0, 1, 0, 0, 5, {}});
  const StridedDim dims[] = {{7, 4000, 3000}};  // 7 runs of 3000 bytes: 21,000 in all
  table.Add({0, 1, 0, 5, 3000, dims});
  table.Add({0, 1, 0, 30'000, kCopyTileBytes, {}});
  DeviceImage image;
  const TableLocation location = image.Add(table);
  const std::vector<TableTile> expected = {
      {0, 5, 0}, {0, 8192, 1}, {8192, 8192, 1}, {16384, 21'000 - 16384, 1}, {0, 8192, 2}};
  EXPECT_EQ(TilesOf(image, location), expected);
  EXPECT_EQ(location.row_count, 3);
}

TEST(DeviceImageTest, HoldsRowsAndDimsAsTheTablesHaveThem) {
  CopyTable copies;
  const StridedDim strided[] = {{3, 100, 10}, {2, 8, 5}};
  copies.Add({4, 2, 1, 7, 3, strided});
  DigestTable digests;
  const DigestDim box[] = {{2, 8, 6}, {3, 1, 2}};
  digests.Add({7, 2, 10, 1, 4, box});
  DeviceImage image;
  const TableLocation first = image.Add(copies);
  const TableLocation second = image.Add(digests);
  EXPECT_EQ(ReadAt<CopyTable::Row>(image, first.rows, 1)[0], copies.rows()[0]);
  EXPECT_EQ(ReadAt<StridedDim>(image, first.dims, 2)[1], copies.dims()[1]);
  EXPECT_EQ(ReadAt<DigestTable::Row>(image, second.rows, 1)[0], digests.rows()[0]);
  EXPECT_EQ(ReadAt<DigestDim>(image, second.dims, 2)[0], box[0]);
  EXPECT_EQ(TilesOf(image, first), (std::vector<TableTile>{{0, 18, 0}}));  // 3 * 2 runs of 3 bytes
  EXPECT_EQ(TilesOf(image, second), (std::vector<TableTile>{{0, 6, 0}}));  // 2 * 3 elements
  for (const TableLocation& location : {first, second}) {
    EXPECT_EQ(location.tiles % 16, 0);
    EXPECT_EQ(location.rows % 16, 0);
    EXPECT_EQ(location.dims % 16, 0);
  }
}

TEST(DeviceImageTest, ABoxWithoutDimsIsOneElementAndAnEmptyOneNone) {
  DigestTable table;
  table.Add({0, 4, 0, 0, 0, {}});
  const DigestDim none[] = {{0, 1, 4}};
  table.Add({0, 4, 0, 0, 0, none});
  DeviceImage image;
  const TableLocation location = image.Add(table);
  EXPECT_EQ(TilesOf(image, location), (std::vector<TableTile>{{0, 1, 0}}));
  EXPECT_EQ(location.row_count, 2);
}

TEST(DeviceImageTest, OffsetsBeyond32BitsAreKept) {
  CopyTable table;
  const std::int64_t huge = (std::int64_t{1} << 33) + 100;
  table.Add({0, 1, 0, 0, huge, {}});
  DeviceImage image;
  const std::vector<TableTile> tiles = TilesOf(image, image.Add(table));
  ASSERT_EQ(tiles.size(), static_cast<std::size_t>((huge + kCopyTileBytes - 1) / kCopyTileBytes));
  EXPECT_EQ(tiles.back(), (TableTile{std::int64_t{1} << 33, 100, 0}));
}

TEST(DeviceImageTest, AnEmptyTableTakesNothing) {
  DeviceImage image;
  EXPECT_EQ(image.Add(CopyTable()), TableLocation());
  EXPECT_TRUE(image.bytes().empty());
}

}  // namespace
}  // namespace reshard
