#include "compiler/layout/engines.h"

#include <string>

#include "foundation/strict_json.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

std::int64_t Ranks(const std::string& kind, const std::string& fields, std::int64_t rank_count) {
  const Result<JsonDocument> document = ParseJson(fields, "job.json");
  EXPECT_TRUE(document);
  const Result<std::int64_t> ranks = RanksPerEngine(kind, JsonCursor(*document), rank_count);
  return ranks ? *ranks : -1;
}

// vLLM: 2 * 2 * 2 of 32 ranks; SGLang's tensor counts attention's replicas; a trainer is one.
TEST(Engines, RanksOfOneEngine) {
  EXPECT_EQ(Ranks("vllm", R"({"tensor": 2, "pipeline": 2, "data": 2})", 32), 8);
  EXPECT_EQ(Ranks("sglang", R"({"tensor": 8, "pipeline": 2, "attentionData": 4})", 32), 16);
  EXPECT_EQ(Ranks("megatron", "{}", 32), 32);
  EXPECT_EQ(Ranks("sglang", R"({"tensor": 5})", 32), -1);
}

}  // namespace
}  // namespace reshard
