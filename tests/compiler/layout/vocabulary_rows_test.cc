#include "compiler/layout/vocabulary_rows.h"

#include <string>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

// Ten rows stored as sixteen over four ranks: 4, 4, 2 and none, each share four rows long.
TEST(VocabularyRows, PaddingLiesAtTheEnd) {
  const Result<Model> model = ModelOf(
      R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 2,
          "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1,
          "head_dim": 2, "intermediate_size": 2, "vocab_size": 10})");
  ASSERT_TRUE(model);
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors);
  const RoleTensors& table = (*tensors)[Role::kEmbedding];
  const std::int64_t begins[] = {0, 4, 8, 10};
  const std::int64_t ends[] = {4, 8, 10, 10};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const Result<LinearCut> cut = VocabularyRows(*tensors, table, 16, 4, rank, "table: rows");
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->rows.front().begin, begins[rank]);
    EXPECT_EQ(cut->rows.front().end, ends[rank]);
    EXPECT_EQ(cut->padded_rows, 4 - (ends[rank] - begins[rank]));
  }
  EXPECT_THAT(ToString(VocabularyRows(*tensors, table, 16, 3, 0, "table: rows").error()),
              HasSubstr("table: rows: 16 is not divisible by 3"));
}

}  // namespace
}  // namespace reshard
