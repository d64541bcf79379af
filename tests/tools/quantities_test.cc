#include "tools/quantities.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace reshard {
namespace {

TEST(DataAmount, CountsInPowersOfAThousandWithFourDigits) {
  EXPECT_EQ(DataAmount(0), "0 B");
  EXPECT_EQ(DataAmount(999), "999 B");
  EXPECT_EQ(DataAmount(1000), "1.000 kB");
  EXPECT_EQ(DataAmount(12'345), "12.35 kB");  // 12.345 as a double lies just above
  EXPECT_EQ(DataAmount(123'456'789), "123.5 MB");
  EXPECT_EQ(DataAmount(673'150'611'808), "673.2 GB");
  EXPECT_EQ(DataAmount(10'770'409'788'928), "10.77 TB");
}

TEST(DataAmount, GoesToTheNextUnitWhereRoundingWouldShowAThousand) {
  EXPECT_EQ(DataAmount(999'949), "999.9 kB");
  EXPECT_EQ(DataAmount(999'950), "1.000 MB");
}

TEST(DataAmount, TakesTheLargestNumberThereIs) {
  EXPECT_EQ(DataAmount(std::numeric_limits<std::int64_t>::max()), "9,223 PB");
}

TEST(MemoryAmount, CountsInMebibytes) {
  EXPECT_EQ(MemoryAmount(0), "0 MiB");
  EXPECT_EQ(MemoryAmount(std::int64_t{2048} << 20), "2,048 MiB");
  EXPECT_EQ(MemoryAmount((1 << 20) + (1 << 19)), "1.5 MiB");
  EXPECT_EQ(MemoryAmount((std::int64_t{1630} << 20) + 5), "1,630 MiB");
  EXPECT_EQ(MemoryAmount(1 << 19), "0.500 MiB");
}

TEST(Duration, ChoosesTheUnit) {
  EXPECT_EQ(Duration(0), "0 s");
  EXPECT_EQ(Duration(3.4e-6), "3.400 us");
  EXPECT_EQ(Duration(14.2e-6), "14.20 us");
  EXPECT_EQ(Duration(0.2270), "227.0 ms");
  EXPECT_EQ(Duration(1.4471), "1.447 s");
  EXPECT_EQ(Duration(1234.4), "1,234 s");
  EXPECT_EQ(Duration(1e-10), "0.100 ns");
}

TEST(Rate, ShowsFourDigits) {
  EXPECT_EQ(Rate(48), "48 GB/s");
  EXPECT_EQ(Rate(13.5), "13.5 GB/s");
}

TEST(Percentage, ShowsOneDecimal) {
  EXPECT_EQ(Percentage(0.0362), "3.6 %");
  EXPECT_EQ(Percentage(1.283), "128.3 %");
}

TEST(Count, GroupsDigitsByThree) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1,000");
  EXPECT_EQ(Count(90'427), "90,427");
  EXPECT_EQ(Count(1'234'567), "1,234,567");
  EXPECT_EQ(Count(-123), "-123");
  EXPECT_EQ(Count(-1'234), "-1,234");
}

TEST(Counted, UsesTheSingularForOneOnly) {
  EXPECT_EQ(Counted(0, "class", "classes"), "0 classes");
  EXPECT_EQ(Counted(1, "class", "classes"), "1 class");
  EXPECT_EQ(Counted(1353, "class", "classes"), "1,353 classes");
}

}  // namespace
}  // namespace reshard
