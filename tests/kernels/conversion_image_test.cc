#include "kernels/conversion_image.h"

#include <gtest/gtest.h>

#include <cstring>

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

TEST(ConversionImageTest, GathersTheBlocksOfTheScalesOfAWindowAlone) {
  // 8 x 4 blocks of 16 x 16: scales 5 and 6 are those of two blocks of the second row.
  const ConversionDim dims[] = {{128, 128, 16}, {64, 2, 16}};
  ConvertedBuffers buffers;
  buffers.Add({ConversionFunction::kBlockScales, BlockScaleRule::kAmax, ConversionElement::kBF16,
               ConversionElement::kF32, 0, 0, dims});
  CopyTable copies;
  copies.Add({0, 1, 5 * 4, 0, 2 * 4, {}});
  DeviceImage image;
  const ConversionLocation location =
      AddConversions(copies, buffers, AddBuffers(buffers, image), image);
  ASSERT_EQ(location.task_count, 2);
  BlockTask tasks[2];
  std::memcpy(tasks, image.bytes().data() + location.tasks, sizeof(tasks));
  EXPECT_EQ(tasks[0].block, 5);
  EXPECT_EQ(tasks[1].block, 6);
}

TEST(ConversionImageTest, SaysWhichCopiesAreOfGatheredBlocks) {
  const ConversionDim small[] = {{64, 64, 1}, {32, 2, 32}};
  const ConversionDim large[] = {{64, 64, 16}, {32, 2, 16}};
  ConvertedBuffers buffers;
  for (const auto& dims : {small, large}) {
    buffers.Add({ConversionFunction::kBlockScales,
                 BlockScaleRule::kFloor,
                 ConversionElement::kBF16,
                 ConversionElement::kE8M0,
                 0,
                 0,
                 {dims, 2}});
  }
  CopyTable copies;
  copies.Add({0, 1, 0, 0, 64, {}});
  copies.Add({1, 1, 0, 64, 8, {}});
  DeviceImage image;
  const ConversionLocation location =
      AddConversions(copies, buffers, AddBuffers(buffers, image), image);
  std::int64_t first_words[2];
  std::memcpy(first_words, image.bytes().data() + location.first_words, sizeof(first_words));
  EXPECT_EQ(first_words[0], -1);
  EXPECT_EQ(first_words[1], 0);
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
