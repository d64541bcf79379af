#include "kernels/content_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/mixing.h"

namespace reshard {
namespace {

std::vector<std::uint64_t> Digests(const DigestTable& table, const std::vector<std::byte>& buffer) {
  const std::byte* const bases[] = {buffer.data()};
  return RunDigests(table, bases);
}

template <typename Element>
std::vector<std::byte> Bytes(const std::vector<Element>& elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(Element));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

// The first outputs of SplitMix64 seeded with 0 are published with its reference implementation
// (and as Java's SplittableRandom(0)): output k is Mix64(k * kGoldenGamma), k from 1.
TEST(MixingTest, IsSplitMix64) {
  EXPECT_EQ(Mix64(1 * kGoldenGamma), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(Mix64(2 * kGoldenGamma), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(Mix64(3 * kGoldenGamma), 0x06C45D188009454Fu);
}

TEST(ContentDigestTest, FollowsItsDefinition) {
  // Elements (index 10, value 0x0201) and (index 13, value 0x0403) of tensor 2.
  const std::vector<std::byte> buffer = Bytes<std::uint8_t>({1, 2, 3, 4});
  const DigestDim dims[] = {{2, 3, 2}};
  DigestTable table;
  table.Add({2, 2, 10, 0, 0, dims});
  const std::uint64_t expected =
      Mix64(Mix64(2 * kGoldenGamma + 10) + 0x0201u) + Mix64(Mix64(2 * kGoldenGamma + 13) + 0x0403u);
  EXPECT_THAT(Digests(table, buffer), ::testing::ElementsAre(expected));
}

TEST(ContentDigestTest, EveryElementSizeReadsItsBytesOnly) {
  const std::vector<std::byte> buffer = Bytes<std::uint64_t>({0x8877665544332211u, ~0ull});
  for (std::int32_t size = 1; size <= 8; ++size) {
    DigestTable table;
    table.Add({0, size, 5, 0, 0, {}});
    const std::uint64_t value = size == 8
                                    ? 0x8877665544332211u
                                    : 0x8877665544332211u & ((std::uint64_t{1} << (8 * size)) - 1);
    EXPECT_THAT(Digests(table, buffer), ::testing::ElementsAre(Mix64(Mix64(5) + value))) << size;
  }
}

TEST(ContentDigestTest, DoesNotDependOnTheLayout) {
  // A 2 x 3 box at (1, 2) of a [4, 8] tensor: first index 10; stored row-major, and transposed
  // with a gap of one element between columns.
  const std::vector<std::byte> rows = Bytes<std::uint16_t>({1, 2, 3, 4, 5, 6});
  const std::vector<std::byte> columns = Bytes<std::uint16_t>({1, 4, 99, 2, 5, 99, 3, 6, 99});
  const DigestDim row_dims[] = {{2, 8, 6}, {3, 1, 2}};
  const DigestDim column_dims[] = {{2, 8, 2}, {3, 1, 6}};
  DigestTable row_table;
  row_table.Add({7, 2, 10, 0, 0, row_dims});
  DigestTable column_table;
  column_table.Add({7, 2, 10, 0, 0, column_dims});
  EXPECT_EQ(Digests(row_table, rows), Digests(column_table, columns));
}

TEST(ContentDigestTest, TellsSwappedElementsTensorsAndValuesApart) {
  const DigestDim dims[] = {{2, 1, 2}};
  DigestTable table;
  table.Add({1, 2, 0, 0, 0, dims});
  DigestTable other_tensor;
  other_tensor.Add({2, 2, 0, 0, 0, dims});
  const std::vector<std::byte> buffer = Bytes<std::uint16_t>({5, 6});
  EXPECT_NE(Digests(table, buffer), Digests(table, Bytes<std::uint16_t>({6, 5})));
  EXPECT_NE(Digests(table, buffer), Digests(table, Bytes<std::uint16_t>({5, 7})));
  EXPECT_NE(Digests(table, buffer), Digests(other_tensor, buffer));
}

}  // namespace
}  // namespace reshard
