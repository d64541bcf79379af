#include "schedules/address_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

struct OwnedEntry {
  std::int64_t offset = 0;
  std::int64_t run = 1;
  std::vector<CopyDim> dims;
  CopyEntry view() const { return {0, offset, run, dims}; }
};

// By the definition in copy_program.h.
Longs Addresses(const OwnedEntry& entry) {
  Longs addresses{entry.offset};
  std::vector<CopyDim> dims = entry.dims;
  dims.push_back({entry.run, 1});
  for (const CopyDim& dim : dims) {
    Longs next;
    for (const std::int64_t base : addresses) {
      for (std::int64_t i = 0; i < dim.count; ++i) next.push_back(base + i * dim.stride);
    }
    addresses = next;
  }
  return addresses;
}

AddressMap MapOf(const OwnedEntry& entry) {
  AddressMap map;
  map.SetEntry(entry.view());
  return map;
}

TEST(AddressMapTest, OneMapHasOneFormHoweverItIsWritten) {
  const AddressMap whole = MapOf({8, 24, {}});
  EXPECT_EQ(whole, MapOf({8, 8, {{3, 8}}}));
  EXPECT_EQ(whole, MapOf({8, 2, {{3, 8}, {1, 77}, {4, 2}}}));
  EXPECT_NE(whole, MapOf({8, 8, {{3, 9}}}));
  EXPECT_NE(whole, MapOf({9, 24, {}}));
  // The same bytes in another order.
  EXPECT_NE(MapOf({0, 1, {{2, 1}, {2, 2}}}), MapOf({0, 1, {{2, 2}, {2, 1}}}));
}

TEST(AddressMapTest, FormsAreEqualExactlyWhereAddressesAre) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto entry = [&random] {
    // Few numbers, so that equal maps written differently come up.
    OwnedEntry one{
        static_cast<std::int64_t>(random() % 2), 1 + static_cast<std::int64_t>(random() % 2), {}};
    for (int i = static_cast<int>(random() % 4); i > 0; --i) {
      one.dims.push_back({1 + static_cast<std::int64_t>(random() % 3),
                          1 + static_cast<std::int64_t>(random() % 6)});
    }
    return one;
  };
  int equal = 0;
  for (int trial = 0; trial < 60000; ++trial) {
    const OwnedEntry a = entry();
    const OwnedEntry b = entry();
    const bool same = Addresses(a) == Addresses(b);
    equal += same && a.dims != b.dims ? 1 : 0;
    ASSERT_EQ(MapOf(a) == MapOf(b), same) << "trial " << trial;
  }
  EXPECT_GT(equal, 20);
}

TEST(AddressMapTest, AFragmentIsMappedByItsRegion) {
  // Rows 1..2, columns 2..3 of a region that starts at row 1 and holds rows of 5 elements of 2
  // bytes from element 10 on: rows of 4 bytes at (10 + 2) * 2 = 24 and 34.
  const Longs begin{1, 2};
  const Longs extent{2, 2};
  const Longs region_begin{1, 0};
  const Longs region_extent{3, 5};
  const Longs stride{5, 1};
  AddressMap map;
  map.SetFragment({0, 8, begin, extent}, {0, 0, 10, region_begin, region_extent, stride}, 2);
  EXPECT_EQ(map, MapOf({24, 4, {{2, 10}}}));
}

}  // namespace
}  // namespace reshard
