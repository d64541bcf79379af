#include "tools/nic_of_option.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(ParseNicOfTest, PairsInOrder) {
  const Result<std::vector<NicOfGpu>> pairs = ParseNicOf("0=mlx5_0,1=NIC2,1=3");
  ASSERT_TRUE(pairs);
  ASSERT_EQ(pairs->size(), 3u);
  EXPECT_EQ((*pairs)[1].gpu, 1);
  EXPECT_EQ((*pairs)[1].nic, "NIC2");
  EXPECT_EQ((*pairs)[2].nic, "3");
  EXPECT_TRUE(ParseNicOf("")->empty());
}

TEST(ParseNicOfTest, OthersAreWrongUsage) {
  for (const char* text : {"0", "0=", "=a", "x=a", "0=a,", ",0=a", "99999999999999999999=a"}) {
    const Result<std::vector<NicOfGpu>> pairs = ParseNicOf(text);
    ASSERT_FALSE(pairs) << text;
    EXPECT_EQ(pairs.error().fault, Fault::kUsage) << text;
  }
}

}  // namespace
}  // namespace reshard
