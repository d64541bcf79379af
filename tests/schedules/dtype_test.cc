#include "schedules/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace reshard {
namespace {

TEST(DTypeTest, EveryNameLeadsBackToItsType) {
  std::set<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    names.insert(std::string(Name(dtype)));
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kDTypeCount));
}

TEST(DTypeTest, BytesAreTheWidthInTheName) {
  EXPECT_EQ(ElementBytes(DType::kBool), 1);
  EXPECT_EQ(ElementBytes(DType::kF8E4M3), 1);
  EXPECT_EQ(ElementBytes(DType::kF8E5M2), 1);
  EXPECT_EQ(ElementBytes(DType::kF8E8M0), 1);
  EXPECT_EQ(ElementBytes(DType::kBF16), 2);
  EXPECT_EQ(ElementBytes(DType::kF16), 2);
  EXPECT_EQ(ElementBytes(DType::kF32), 4);
  EXPECT_EQ(ElementBytes(DType::kF64), 8);
  EXPECT_EQ(ElementBytes(DType::kI64), 8);
  // The rest carry their bits at the end of their name.
  for (int i = 0; i < kDTypeCount; ++i) {
    const std::string name(Name(static_cast<DType>(i)));
    if (name.rfind("F8", 0) == 0 || name == "BOOL") continue;
    const std::size_t digits = name.find_first_of("0123456789");
    EXPECT_EQ(ElementBytes(static_cast<DType>(i)) * 8, std::stoll(name.substr(digits))) << name;
  }
}

TEST(DTypeTest, NamesAreExact) {
  EXPECT_EQ(DTypeFromName("BF16"), DType::kBF16);
  EXPECT_EQ(DTypeFromName("F8_E4M3"), DType::kF8E4M3);
  EXPECT_EQ(DTypeFromName("bf16"), std::nullopt);
  EXPECT_EQ(DTypeFromName("BF16 "), std::nullopt);
  EXPECT_EQ(DTypeFromName(""), std::nullopt);
}

}  // namespace
}  // namespace reshard
