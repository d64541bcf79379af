#include "kernels/conversion_image.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(ConversionImageTest, GathersOnlyBlocksNearTheWindow) {
  // 8 x 4 blocks of 16 x 16: bytes of rows 16 to 31 follow from the second row of blocks.
  const ConversionDim dims[] = {{128, 128, 16}, {64, 2, 16}};
  ConvertedBuffers buffers;
  buffers.Add({ConversionFunction::kBlockValues, BlockScaleRule::kAmax, ConversionElement::kBF16,
               ConversionElement::kF8E4M3, 0, 0, dims});
  CopyTable copies;
  copies.Add({0, 1, 16 * 64, 0, 16 * 64, {}});
  DeviceImage image;
  const ConversionLocation location =
      AddConversions(copies, buffers, AddBuffers(buffers, image), image);
  EXPECT_EQ(location.scratch_words, 32);
  EXPECT_EQ(location.task_count, 4);
}

TEST(ConversionImageTest, GathersNoSmallBlocks) {
  const ConversionDim dims[] = {{64, 64, 1}, {32, 2, 32}};
  ConvertedBuffers buffers;
  buffers.Add({ConversionFunction::kBlockScales, BlockScaleRule::kFloor, ConversionElement::kBF16,
               ConversionElement::kE8M0, 0, 0, dims});
  CopyTable copies;
  copies.Add({0, 1, 0, 0, 64, {}});
  DeviceImage image;
  const ConversionLocation location =
      AddConversions(copies, buffers, AddBuffers(buffers, image), image);
  EXPECT_EQ(location.scratch_words, 0);
  EXPECT_EQ(location.task_count, 0);
  EXPECT_EQ(location.copies.tile_count, 1);
}

}  // namespace
}  // namespace reshard
