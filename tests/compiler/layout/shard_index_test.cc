#include "compiler/layout/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foundation/strict_json.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& text) {
  const JsonDocument document = ParseJson(text, "model.safetensors.index.json").value();
  const auto tensors = ReadShardIndex(JsonCursor(document));
  return tensors ? "accepted" : ToString(tensors.error());
}

TEST(ShardIndexTest, NamesTheShardOfEveryTensor) {
  const JsonDocument document =
      ParseJson(R"({"metadata": {"total_size": 12}, "weight_map": {"b": "2.safetensors",
                    "a": "1.safetensors"}})",
                "index")
          .value();
  const auto tensors = ReadShardIndex(JsonCursor(document));
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  ASSERT_EQ(tensors->size(), 2U);
  EXPECT_EQ((*tensors)[0].name, "b");
  EXPECT_EQ((*tensors)[0].shard, "2.safetensors");
  EXPECT_EQ((*tensors)[1].name, "a");
  EXPECT_THAT(ToString((*tensors)[1].Missing().value()),
              HasSubstr("shard 1.safetensors does not hold this tensor"));
}

TEST(ShardIndexTest, WhatIsNoIndexIsRefused) {
  EXPECT_THAT(Refusal("{}"), HasSubstr("weight_map"));
  EXPECT_THAT(Refusal(R"({"weight_map": []})"), HasSubstr("weight_map"));
  EXPECT_THAT(Refusal(R"({"weight_map": {"a": 1}})"), HasSubstr("weight_map"));
  for (const char* path : {"../1.safetensors", "/etc/1.safetensors", "x/1.safetensors"}) {
    EXPECT_THAT(Refusal(std::string(R"({"weight_map": {"a": ")") + path + "\"}}"),
                HasSubstr("is no plain file name; keep the shards beside the index"));
  }
}

}  // namespace
}  // namespace reshard
