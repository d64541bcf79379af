#include "compiler/layout/model_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "foundation/json_writer.h"
#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A folder of its own for each test, removed behind it.
class ModelReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("model_reader_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  // A .safetensors file: length, header, and `data_bytes` zeros.
  void WriteSafetensors(const std::string& name, const std::string& header,
                        std::size_t data_bytes = 0) {
    std::string content;
    for (int i = 0; i < 8; ++i) content += static_cast<char>((header.size() >> (8 * i)) & 0xff);
    Write(name, content + header + std::string(data_bytes, '\0'));
  }
  // The model that a job in the folder reads for `value`, a JSON text.
  Result<Model> Read(const std::string& value) {
    const JsonDocument document = Json(value, "job.json");
    return ReadModel(JsonCursor(document), Folder::Of((folder_ / "job.json").string()));
  }
  // The error, without the folder's path.
  std::string Refusal(const std::string& value) {
    const Result<Model> model = Read(value);
    if (model) return "accepted";
    std::string line = ToString(model.error());
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = line.find(prefix); at != std::string::npos; at = line.find(prefix)) {
      line.erase(at, prefix.size());
    }
    return line;
  }

  std::filesystem::path folder_;
};

const std::vector<Tensor>& Two() {
  static const std::vector<Tensor> tensors = {{"a", DType::kF8E4M3, {2, 3}},
                                              {"b.scale", DType::kF32, {}}};
  return tensors;
}

TEST_F(ModelReaderTest, TensorListSortedByName) {
  Write("list.json", R"json({"b.scale": {"dtype": "F32", "shape": [], "shard": "synthetic"},
                             "__metadata__": {"format": "pt"},
                             "a": {"shape": [2, 3], "dtype": "F8_E4M3"}})json");
  const Result<Model> model = Read("\"list.json\"");
  ASSERT_TRUE(model.has_value()) << ToString(model.error());
  EXPECT_EQ(model->tensors, Two());
  EXPECT_EQ(model->Find("b.scale"), 1);
  EXPECT_EQ(model->Find("b"), std::nullopt);
  EXPECT_FALSE(model->tensors_from_config);
}

TEST_F(ModelReaderTest, SafetensorsHeader) {
  WriteSafetensors("m.safetensors",
                   R"json({"__metadata__": {"format": "pt"},
                      "a": {"dtype": "F8_E4M3", "shape": [2, 3], "data_offsets": [0, 6]},
                      "b.scale": {"dtype": "F32", "shape": [], "data_offsets": [6, 10]}})json",
                   10);
  const Result<Model> model = Read("\"m.safetensors\"");
  ASSERT_TRUE(model.has_value()) << ToString(model.error());
  EXPECT_EQ(model->tensors, Two());
}

TEST_F(ModelReaderTest, IndexWithShardsBesideIt) {
  std::filesystem::create_directories(folder_ / "hub");
  WriteSafetensors("hub/m-1.safetensors", R"json({"b.scale": {"dtype": "F32", "shape": []}})json");
  WriteSafetensors("hub/m-2.safetensors",
                   R"json({"a": {"dtype": "F8_E4M3", "shape": [2, 3]}})json");
  Write("hub/model.safetensors.index.json",
        R"json({"metadata": {"total_size": 10},
                "weight_map": {"a": "m-2.safetensors", "b.scale": "m-1.safetensors"}})json");
  const Result<Model> model = Read("\"hub/model.safetensors.index.json\"");
  ASSERT_TRUE(model.has_value()) << ToString(model.error());
  EXPECT_EQ(model->tensors, Two());
}

TEST_F(ModelReaderTest, IndexThatDoesNotFitItsShards) {
  WriteSafetensors("m.safetensors", R"json({"a": {"dtype": "BF16", "shape": [2]}})json");
  Write("index.json", R"json({"weight_map": {"a": "m.safetensors", "b": "m.safetensors"}})json");
  EXPECT_EQ(Refusal("\"index.json\""),
            "index.json: weight_map.b: shard m.safetensors does not hold this tensor");
  Write("index.json", R"json({"weight_map": {"a": "gone.safetensors"}})json");
  EXPECT_THAT(Refusal("\"index.json\""), HasSubstr("gone.safetensors: cannot be read"));
  Write("index.json", R"json({"weight_map": {"a": "../m.safetensors"}})json");
  EXPECT_THAT(Refusal("\"index.json\""), HasSubstr("is no plain file name"));
}

TEST_F(ModelReaderTest, TensorsWithFamilyAndConfig) {
  Write("list.json", R"json({"a": {"shape": [2, 3], "dtype": "F8_E4M3"},
                             "b.scale": {"shape": [], "dtype": "F32"}})json");
  const Result<Model> model =
      Read(R"json({"tensors": "list.json", "family": "llama", "config": {"head_dim": 64}})json");
  ASSERT_TRUE(model.has_value()) << ToString(model.error());
  EXPECT_EQ(model->tensors, Two());
  EXPECT_EQ(model->family, "llama");
  EXPECT_EQ(*model->Config().Integer("head_dim"), 64);
  EXPECT_EQ(ToString(model->Config().Integer("hidden_size").error()).substr(0, 16),
            "job.json: config");
}

// What the canonical job embeds must read back as the same model, whatever its tensors are called.
TEST_F(ModelReaderTest, ModelToJsonReadsBack) {
  for (
      const char* text :
      {R"json({"a": {"shape": [2, 3], "dtype": "BF16"}})json",
       R"json({"tensors": {"shape": [1], "dtype": "BF16"}})json",
       R"json({"config": {"shape": [1], "dtype": "BF16"}, "weight_map": {"shape": [], "dtype": "U8"}})json",
       R"json({"tensors": {"tensors": {"shape": [1], "dtype": "BF16"}}, "family": "qwen3"})json",
       R"json({"tensors": {"a": {"shape": [1], "dtype": "BF16"}}, "config": {"x": 1}})json",
       R"json({"model_type": {"shape": [1], "dtype": "BF16"}})json"}) {
    const Result<Model> model = Read(text);
    ASSERT_TRUE(model.has_value()) << text << ToString(model.error());
    ASSERT_FALSE(model->tensors.empty());
    const std::string canonical = CanonicalJson(ModelToJson(*model));
    const Result<Model> again = Read(canonical);
    ASSERT_TRUE(again.has_value()) << canonical << ToString(again.error());
    EXPECT_EQ(again->tensors, model->tensors) << canonical;
    EXPECT_EQ(again->family, model->family);
    EXPECT_EQ(again->config.root, model->config.root);
  }
}

TEST_F(ModelReaderTest, ConfigStandsForItsTensors) {
  Write("config.json", R"json({
      "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
      "intermediate_size": 16, "vocab_size": 32, "tie_word_embeddings": true,
      "torch_dtype": "bfloat16"})json");
  const Result<Model> model = Read("\"config.json\"");
  ASSERT_TRUE(model.has_value()) << ToString(model.error());
  EXPECT_TRUE(model->tensors_from_config);
  ASSERT_TRUE(model->Find("model.layers.0.self_attn.k_proj.weight").has_value());
  EXPECT_THAT(model
                  ->tensors[static_cast<std::size_t>(
                      *model->Find("model.layers.0.self_attn.k_proj.weight"))]
                  .shape,
              ElementsAre(4, 8));
  const std::string canonical = CanonicalJson(ModelToJson(*model));
  EXPECT_THAT(canonical, Not(HasSubstr("k_proj")));
  const Result<Model> again = Read(canonical);
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(again->tensors, model->tensors);
  EXPECT_EQ(again->family, model->family);
  EXPECT_TRUE(again->tensors_from_config);
}

TEST_F(ModelReaderTest, BadTensorsAreRefused) {
  const auto entry = [&](const std::string& text) { return Refusal("{\"t\": " + text + "}"); };
  EXPECT_EQ(entry(R"json({"shape": [2]})json"), "job.json: t: field 'dtype' is missing; add it");
  EXPECT_THAT(entry(R"json({"shape": [2], "dtype": "BF17"})json"),
              HasSubstr("job.json: t.dtype: unknown dtype 'BF17'"));
  EXPECT_THAT(entry(R"json({"shape": [-2], "dtype": "BF16"})json"), HasSubstr("t.shape.0"));
  EXPECT_THAT(entry(R"json({"shape": [4294967296, 4294967296], "dtype": "BF16"})json"),
              HasSubstr("tensor t is too large"));
  EXPECT_THAT(entry(R"json({"shape": [0, 4294967296, 4294967296], "dtype": "BF16"})json"),
              HasSubstr("tensor t is too large"));
  EXPECT_THAT(Refusal(R"json({"a": {"shape": [4611686018427387904], "dtype": "U8"},
                              "b": {"shape": [4611686018427387904], "dtype": "U8"}})json"),
              HasSubstr("together do not fit 64 bits"));
  EXPECT_THAT(Refusal(R"json({"": {"shape": [1], "dtype": "U8"}})json"),
              HasSubstr("a tensor has no name"));
  EXPECT_THAT(Refusal("7"), HasSubstr("expected a path or an object, got an integer"));
}

TEST_F(ModelReaderTest, TooManyDimsAreRefused) {
  std::string shape = "1";
  for (int i = 0; i < 32; ++i) shape += ", 1";
  EXPECT_THAT(Refusal("{\"t\": {\"dtype\": \"U8\", \"shape\": [" + shape + "]}}"),
              HasSubstr("tensor t has 33 dims, more than 32"));
}

TEST_F(ModelReaderTest, BadFilesAreRefused) {
  EXPECT_THAT(Refusal("\"gone.json\""), HasSubstr("gone.json"));
  EXPECT_THAT(Refusal("\"gone.safetensors\""), HasSubstr("gone.safetensors: cannot be read"));
  Write("short.safetensors", "abc");
  EXPECT_EQ(Refusal("\"short.safetensors\""),
            "short.safetensors: is too short for a safetensors file");
  Write("long.safetensors", std::string("\x10\0\0\0\0\0\0\0{}", 10));
  EXPECT_EQ(Refusal("\"long.safetensors\""), "long.safetensors: ends inside its header");
  Write("huge.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  EXPECT_EQ(Refusal("\"huge.safetensors\""),
            "huge.safetensors: claims a header of 9223372036854775807 bytes, more than the format "
            "allows");
  WriteSafetensors("twice.safetensors", R"json({"a": {"dtype": "U8", "shape": []},
                                                "a": {"dtype": "U8", "shape": []}})json");
  EXPECT_THAT(Refusal("\"twice.safetensors\""), HasSubstr("twice.safetensors: header"));
  Write("self.json", R"json({"tensors": "self.json"})json");
  EXPECT_THAT(Refusal("\"self.json\""), HasSubstr("expected a list of tensors"));
  Write("config.json", R"json({"architectures": ["X"], "hidden_size": 8})json");
  EXPECT_THAT(Refusal("\"config.json\""), HasSubstr("has no model_type"));
}

TEST_F(ModelReaderTest, NowhereNamesNoFiles) {
  const JsonDocument document = Json("\"list.json\"", "plan");
  const Result<Model> model = ReadModel(JsonCursor(document), Folder::Nowhere());
  ASSERT_FALSE(model.has_value());
  EXPECT_THAT(model.error().reason, HasSubstr("holds everything inline"));
}

}  // namespace
}  // namespace reshard
