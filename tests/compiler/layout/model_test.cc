#include "compiler/layout/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foundation/json_writer.h"

namespace reshard {
namespace {

TEST(ModelTest, TensorsAreSortedBytewise) {
  std::vector<Tensor> tensors = {{"layers.10.w", DType::kBF16, {1}},
                                 {"layers.2.w", DType::kBF16, {2}},
                                 {"Z", DType::kBF16, {3}}};
  ASSERT_TRUE(NormaliseTensors("model.json", tensors).has_value());
  EXPECT_EQ(tensors[0].name, "Z");
  EXPECT_EQ(tensors[1].name, "layers.10.w");
  EXPECT_EQ(tensors[2].name, "layers.2.w");
  Model model;
  model.tensors = tensors;
  EXPECT_EQ(model.Find("layers.2.w"), 2);
  EXPECT_EQ(model.Find("layers.3.w"), std::nullopt);
  EXPECT_EQ(model.Find(""), std::nullopt);
}

TEST(ModelTest, EqualNamesAreRefused) {
  std::vector<Tensor> tensors = {{"a", DType::kBF16, {1}}, {"a", DType::kF32, {2}}};
  const auto normal = NormaliseTensors("model.json", tensors);
  ASSERT_FALSE(normal.has_value());
  EXPECT_EQ(ToString(normal.error()), "model.json: tensor a is listed twice");
}

TEST(ModelTest, BytesAreElementsTimesTheirSize) {
  EXPECT_EQ(TensorBytes({"t", DType::kF32, {3, 5}}), 60);
  EXPECT_EQ(TensorBytes({"t", DType::kF8E4M3, {3, 5}}), 15);
  EXPECT_EQ(TensorBytes({"t", DType::kI64, {}}), 8);
  EXPECT_EQ(TensorBytes({"t", DType::kI64, {4, 0}}), 0);
}

TEST(ModelTest, JsonOfAListKeepsFamilyAndConfig) {
  Model model;
  model.tensors = {{"a", DType::kBF16, {2, 3}}, {"b", DType::kF32, {}}};
  EXPECT_EQ(
      CanonicalJson(ModelToJson(model)),
      R"json({"tensors":{"a":{"dtype":"BF16","shape":[2,3]},"b":{"dtype":"F32","shape":[]}}})json");
  model.family = "llama";
  model.config.root = JsonValue::Object{{"head_dim", 64}};
  EXPECT_EQ(CanonicalJson(ModelToJson(model)).substr(0, 46),
            R"json({"config":{"head_dim":64},"family":"llama","te)json");
}

TEST(ModelTest, AConfigStandsForItsTensors) {
  Model model;
  model.tensors = {{"a", DType::kBF16, {2, 3}}};
  model.family = "llama";
  model.config.root = JsonValue::Object{{"model_type", "llama"}};
  model.tensors_from_config = true;
  EXPECT_EQ(CanonicalJson(ModelToJson(model)), R"json({"config":{"model_type":"llama"}})json");
}

}  // namespace
}  // namespace reshard
