#include "foundation/digest.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(DigestTest, EmptyInputHasThePublishedValue) {
  // XXH3 128 of nothing with seed 0, from the algorithm's published test vectors:
  // high 0x99AA06D3014798D8, low 0x6001C324468D497F.
  EXPECT_EQ(DigestHex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(DigestTest, TextAndBytesAgree) {
  const std::string text = "refit";
  EXPECT_EQ(DigestHex(text), DigestHex(std::as_bytes(std::span(text.data(), text.size()))));
}

TEST(DigestTest, OneBitChangesIt) {
  EXPECT_NE(DigestHex("refit0"), DigestHex("refit1"));
  EXPECT_EQ(DigestHex("refit0").size(), 32u);
}

}  // namespace
}  // namespace reshard
