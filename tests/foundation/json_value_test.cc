#include "foundation/json_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace reshard {
namespace {

TEST(JsonValueTest, IntegralNumbersAreIntegers) {
  EXPECT_EQ(JsonValue(2.0), JsonValue(2));
  EXPECT_EQ(JsonValue(-0.0), JsonValue(0));
  EXPECT_EQ(JsonValue(2.5).AsInteger(), nullptr);
  ASSERT_NE(JsonValue(2.5).AsFraction(), nullptr);
}

TEST(JsonValueTest, NumbersBeyond64BitsStayNumbers) {
  // 2^63 - 1024 is the last double below 2^63.
  EXPECT_EQ(JsonValue(9223372036854774784.0), JsonValue(INT64_MAX - 1023));
  EXPECT_EQ(JsonValue(9223372036854775808.0).AsInteger(), nullptr);
  // Integers just below -2^63 are rounded to it, so as a double it is none.
  EXPECT_EQ(JsonValue(-9223372036854775808.0).AsInteger(), nullptr);
  EXPECT_EQ(JsonValue(1e300).AsInteger(), nullptr);
}

TEST(JsonValueTest, WhatJsonCannotSayIsNull) {
  EXPECT_TRUE(JsonValue(std::numeric_limits<double>::quiet_NaN()).IsNull());
  EXPECT_TRUE(JsonValue(HUGE_VAL).IsNull());
}

TEST(JsonValueTest, KindsAreTold) {
  EXPECT_EQ(JsonValue().KindName(), "null");
  EXPECT_EQ(JsonValue(true).KindName(), "a boolean");
  EXPECT_EQ(JsonValue(1).KindName(), "an integer");
  EXPECT_EQ(JsonValue(1.5).KindName(), "a number");
  EXPECT_EQ(JsonValue("text").KindName(), "a string");
  EXPECT_EQ(JsonValue(JsonValue::Array{}).KindName(), "an array");
  EXPECT_EQ(JsonValue(JsonValue::Object{}).KindName(), "an object");
}

TEST(JsonValueTest, FindsMembersOfObjectsOnly) {
  JsonValue object(JsonValue::Object{{"tensor", 8}, {"pipeline", nullptr}});
  ASSERT_NE(object.Find("tensor"), nullptr);
  EXPECT_EQ(*object.Find("tensor"), JsonValue(8));
  EXPECT_TRUE(object.Find("pipeline")->IsNull());
  EXPECT_EQ(object.Find("tens"), nullptr);
  EXPECT_EQ(JsonValue("tensor").Find("tensor"), nullptr);
  *object.Find("tensor") = 4;
  EXPECT_EQ(*object.Find("tensor"), JsonValue(4));
}

}  // namespace
}  // namespace reshard
