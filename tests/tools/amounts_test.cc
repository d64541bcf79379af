#include "tools/amounts.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace reshard {
namespace {

TEST(MemoryText, CountsInMebibytes) {
  EXPECT_EQ(MemoryText(0), "0 MiB");
  EXPECT_EQ(MemoryText(std::int64_t{2048} << 20), "2,048 MiB");
  EXPECT_EQ(MemoryText((1 << 20) + (1 << 19)), "1.5 MiB");
  EXPECT_EQ(MemoryText((std::int64_t{1630} << 20) + 5), "1,630 MiB");
  EXPECT_EQ(MemoryText(1 << 19), "0.500 MiB");
}

TEST(MemoryText, RoundsTheLastFractionUpToAWholeThousand) {
  // 1000 MiB less 1/32 MiB is 999.97 MiB.
  EXPECT_EQ(MemoryText((std::int64_t{1000} << 20) - (1 << 15)), "1,000 MiB");
}

TEST(RateText, ShowsFourDigits) {
  EXPECT_EQ(RateText(48), "48 GB/s");
  EXPECT_EQ(RateText(13.5), "13.5 GB/s");
}

TEST(PercentText, ShowsOneDecimal) {
  EXPECT_EQ(PercentText(0.0362), "3.6 %");
  EXPECT_EQ(PercentText(1.283), "128.3 %");
}

TEST(CountedText, UsesTheSingularForOneOnly) {
  EXPECT_EQ(CountedText(0, "class", "classes"), "0 classes");
  EXPECT_EQ(CountedText(1, "class", "classes"), "1 class");
  EXPECT_EQ(CountedText(1353, "class", "classes"), "1,353 classes");
}

}  // namespace
}  // namespace reshard
