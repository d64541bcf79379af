#include "schedules/codec_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace reshard::codec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

class CodecColumnsTest : public ::testing::Test {
 protected:
  DecodeBudget budget_{100};
  SectionContext context_{"f", "tensors", &budget_};
};

TEST_F(CodecColumnsTest, DeltasComeBackWhateverTheNumbers) {
  const Longs values{5, 5, 7, -3, INT64_MAX, INT64_MIN, 0, INT64_MIN, INT64_MAX};
  SignedColumn column;
  DeltaWriter writer(&column);
  for (const std::int64_t value : values) writer.Add(value);
  EXPECT_EQ(column.Get(1), 0);
  EXPECT_EQ(column.Get(2), 2);
  DeltaReader reader(column);
  for (const std::int64_t value : values) EXPECT_EQ(reader.Next(), value);
  EXPECT_TRUE(reader.ok());
}

TEST_F(CodecColumnsTest, WhatDoesNotFitIsRemembered) {
  SignedColumn column;
  column.Add(INT32_MAX);
  column.Add(1);
  column.Add(-1);
  DeltaReader reader(column);
  EXPECT_EQ(reader.Next<std::int32_t>(), INT32_MAX);
  EXPECT_TRUE(reader.ok());
  reader.Next<std::int32_t>();
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Next<std::int32_t>(), INT32_MAX);
  EXPECT_FALSE(reader.ok());
}

TEST_F(CodecColumnsTest, EqualListsAreStoredOnce) {
  format::Lists lists;
  ListWriter writer(&lists);
  EXPECT_EQ(writer.Intern(Longs{1, 2}), 0U);
  EXPECT_EQ(writer.Intern(Longs{}), 1U);
  EXPECT_EQ(writer.Intern(Longs{1, 2, 3}), 2U);
  EXPECT_EQ(writer.Intern(Longs{1, 2}), 0U);
  EXPECT_EQ(writer.Intern(Longs{}), 1U);
  ASSERT_TRUE(ListReader::IsWhole(lists));
  const ListReader reader(lists);
  ASSERT_EQ(reader.size(), 3);
  EXPECT_THAT(reader[0], ElementsAre(1, 2));
  EXPECT_TRUE(reader[1].empty());
  EXPECT_THAT(reader[2], ElementsAre(1, 2, 3));
  lists.add_size(1);
  EXPECT_FALSE(ListReader::IsWhole(lists));
}

TEST_F(CodecColumnsTest, NamesShareTheirBeginnings) {
  format::Names names;
  NameWriter writer(&names);
  const std::vector<std::string> all{"layers.0.w", "layers.0.x", "layers.1", "", "layers.1"};
  for (const std::string& name : all) writer.Add(name);
  EXPECT_EQ(names.text(), "layers.0.wx1layers.1");
  EXPECT_EQ(*ReadNames(names, context_), all);
}

TEST_F(CodecColumnsTest, NamesThatReachBeyondTheirTextAreRefused) {
  format::Names names;
  names.add_shared(1);
  names.add_added(0);
  EXPECT_THAT(ToString(ReadNames(names, context_).error()),
              HasSubstr("f: the section \"tensors\" is malformed: a name reaches beyond its text"));
  names.set_shared(0, 0);
  names.set_added(0, 2);
  names.set_text("a");
  EXPECT_FALSE(ReadNames(names, context_).has_value());
  names.set_text("abc");
  EXPECT_THAT(ToString(ReadNames(names, context_).error()), HasSubstr("belongs to no name"));
}

TEST_F(CodecColumnsTest, ShortRowsOfALongNameAreCharged) {
  // One name of 64 KiB, and thousands of rows that repeat it for two bytes each: 64 MiB are reached
  // after a thousand.
  format::Names names;
  names.add_shared(0);
  names.add_added(1 << 16);
  names.set_text(std::string(1 << 16, 'x'));
  for (int i = 0; i < 5000; ++i) {
    names.add_shared(1 << 16);
    names.add_added(0);
  }
  EXPECT_THAT(ToString(ReadNames(names, context_).error()), HasSubstr("more memory than a file"));
}

}  // namespace
}  // namespace reshard::codec
