// Inputs that broke somebody's refit between frameworks, as kinds: key-value heads that more ranks
// hold than there are, vocabularies stored with padding on one side or on both in other amounts,
// experts dealt out round robin or with copies, an LM head that is the embedding on one side and a
// copy of it on the other. What every rank must hold is written out with naive arrays; bytes go the
// whole way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/case_job.h"
#include "tests/end_to_end/naive_array.h"
#include "tests/end_to_end/naive_replay.h"

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

Longs Range(std::int64_t begin, std::int64_t end) {
  Longs range;
  for (std::int64_t i = begin; i < end; ++i) range.push_back(i);
  return range;
}

// Tensors in bytewise order of their names, as naive arrays number them.
struct SmallModel {
  std::vector<CaseTensor> tensors;
  std::string family;
  std::string config;  // a JSON object

  NaiveArray Of(const std::string& name) const {
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].name == name) return Whole(tensors, static_cast<std::int32_t>(t));
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  std::string Json() const {
    std::string list;
    for (const CaseTensor& tensor : tensors) {
      list += (list.empty() ? "\"" : ", \"") + tensor.name + R"(": {"shape": )" +
              ListText(tensor.shape) + R"(, "dtype": ")" + std::string(Name(tensor.dtype)) + "\"}";
    }
    return R"({"tensors": {)" + list + R"(}, "family": ")" + family + R"(", "config": )" + config +
           "}";
  }
};

// One side: a framework's layout as it stands in a job, and what rank r of it must hold.
struct FrameworkSide {
  std::string layout;
  std::int32_t ranks = 1;
  std::function<std::vector<NaiveParameter>(std::int64_t rank)> held;
};

NaiveJob MakeJob(const SmallModel& model, const FrameworkSide& source,
                 const FrameworkSide& destination) {
  const std::int32_t first = (source.ranks + 7) / 8 * 8;  // the destination on nodes of its own
  const auto side = [](std::int32_t gpu, const FrameworkSide& one) {
    return R"({"gpus": ")" + std::to_string(gpu) + "-" + std::to_string(gpu + one.ranks - 1) +
           R"(", "layout": )" + one.layout + "}";
  };
  NaiveJob job;
  job.model_json = model.Json();
  job.job_json = R"({"cluster": {"domains": [{"type": "dgx-h100", "count": )" +
                 std::to_string((first + destination.ranks + 7) / 8) +
                 R"(}]}, "model": "model.json", "source": )" + side(0, source) +
                 R"(, "destination": )" + side(first, destination) + "}";
  for (std::int32_t rank = 0; rank < source.ranks; ++rank) job.source[rank] = source.held(rank);
  for (std::int32_t rank = 0; rank < destination.ranks; ++rank) {
    job.destination[first + rank] = destination.held(rank);
  }
  return job;
}

// FSDP over `ranks`: rows of every tensor by torch.chunk.
FrameworkSide FsdpSide(const SmallModel& model, std::int32_t ranks) {
  return {R"({"fsdp": {}})", ranks, [&model, ranks](std::int64_t rank) {
            std::vector<NaiveParameter> held;
            for (const CaseTensor& tensor : model.tensors) {
              const std::int64_t rows = tensor.shape[0];
              held.push_back({tensor.name, tensor.dtype,
                              Take(model.Of(tensor.name), 0, PieceOf(rows, ranks, rank, {}))});
            }
            return held;
          }};
}

NaiveArray Padded(NaiveArray array, std::int64_t rows) {
  const std::int64_t width = array.shape[1];
  array.elements.resize(static_cast<std::size_t>(rows * width));
  array.shape[0] = rows;
  return array;
}

// Rows [begin, begin + rows) of a table whose rows behind the last are padding.
NaiveArray RowsOf(const NaiveArray& table, std::int64_t begin, std::int64_t rows) {
  const std::int64_t end = std::min(begin + rows, table.shape[0]);
  return Padded(Take(table, 0, Range(std::min(begin, end), end)), rows);
}

NaiveArray Stack(const std::vector<NaiveArray>& entries) {
  NaiveArray stack;
  stack.shape = entries.front().shape;
  stack.shape.insert(stack.shape.begin(), static_cast<std::int64_t>(entries.size()));
  for (const NaiveArray& entry : entries) {
    stack.elements.insert(stack.elements.end(), entry.elements.begin(), entry.elements.end());
  }
  return stack;
}

SmallModel AttentionOnly(std::int64_t query_heads, std::int64_t heads, std::int64_t dim) {
  const std::string name = "model.layers.0.self_attn.";
  return {{{name + "k_proj.weight", {heads * dim, 3}},
           {name + "o_proj.weight", {3, query_heads * dim}},
           {name + "q_proj.weight", {query_heads * dim, 3}},
           {name + "v_proj.weight", {heads * dim, 3}}},
          "llama",
          R"({"hidden_size": 3, "num_hidden_layers": 1, "num_attention_heads": )" +
              std::to_string(query_heads) + R"(, "num_key_value_heads": )" + std::to_string(heads) +
              R"(, "head_dim": )" + std::to_string(dim) + "}"};
}

// Rank r of an engine has its query heads, and of k and v either its heads or, where ranks
// outnumber them, the head that it shares with its neighbours.
FrameworkSide EngineAttention(const SmallModel& model, const std::string& engine,
                              std::int64_t query_heads, std::int64_t heads, std::int64_t dim,
                              std::int32_t ranks) {
  return {R"({")" + engine + R"(": {"tensor": )" + std::to_string(ranks) + "}}", ranks,
          [=](std::int64_t rank) -> std::vector<NaiveParameter> {
            const std::string name = "model.layers.0.self_attn.";
            const std::int64_t own = query_heads / ranks;
            const Longs query = Range(rank * own * dim, (rank + 1) * own * dim);
            const std::int64_t each = heads >= ranks ? heads / ranks : 1;
            const std::int64_t first = heads >= ranks ? rank * each : rank / (ranks / heads);
            const Longs key = Range(first * dim, (first + each) * dim);
            return {{name + "qkv_proj.weight", DType::kBF16,
                     Concatenate({Take(model.Of(name + "q_proj.weight"), 0, query),
                                  Take(model.Of(name + "k_proj.weight"), 0, key),
                                  Take(model.Of(name + "v_proj.weight"), 0, key)},
                                 0)},
                    {name + "o_proj.weight", DType::kBF16,
                     Take(model.Of(name + "o_proj.weight"), 1, query)}};
          }};
}

TEST(FrameworkCases, MoreRanksThanKeyValueHeads) {
  const NaiveReplay replay;
  struct Heads {
    std::int64_t query, key_value;
    std::int32_t ranks;
  };
  for (const Heads& heads : {Heads{8, 4, 8}, {16, 8, 16}, {8, 2, 8}, {8, 1, 4}, {8, 4, 2}}) {
    for (const char* engine : {"sglang", "vllm"}) {
      SCOPED_TRACE(std::string(engine) + " " + std::to_string(heads.key_value) + " heads over " +
                   std::to_string(heads.ranks));
      const SmallModel model = AttentionOnly(heads.query, heads.key_value, 2);
      replay.ExpectRight(
          MakeJob(model, FsdpSide(model, 3),
                  EngineAttention(model, engine, heads.query, heads.key_value, 2, heads.ranks)));
    }
  }
}

SmallModel Vocabulary(std::int64_t size) {
  return {{{"lm_head.weight", {size, 1}}, {"model.embed_tokens.weight", {size, 1}}},
          "llama",
          R"({"hidden_size": 1, "num_hidden_layers": 0, "num_attention_heads": 1, "vocab_size": )" +
              std::to_string(size) + "}"};
}

// `rows` stored over `ranks`, the padding behind.
FrameworkSide VocabularySide(const SmallModel& model, std::string layout, const std::string& embed,
                             const std::string& head, std::int64_t rows, std::int32_t ranks) {
  return {std::move(layout), ranks, [=](std::int64_t rank) -> std::vector<NaiveParameter> {
            const std::int64_t each = rows / ranks;
            return {{embed, DType::kBF16,
                     RowsOf(model.Of("model.embed_tokens.weight"), rank * each, each)},
                    {head, DType::kBF16, RowsOf(model.Of("lm_head.weight"), rank * each, each)}};
          }};
}

FrameworkSide MegatronVocabulary(const SmallModel& model, std::int64_t rows, std::int32_t ranks) {
  return VocabularySide(model,
                        R"({"megatron": {"tensor": )" + std::to_string(ranks) +
                            R"(, "paddedVocabulary": )" + std::to_string(rows) + "}}",
                        "embedding.word_embeddings.weight", "output_layer.weight", rows, ranks);
}

FrameworkSide EngineVocabulary(const SmallModel& model, const std::string& engine,
                               std::int64_t rows, std::int32_t ranks) {
  return VocabularySide(model,
                        R"({")" + engine + R"(": {"tensor": )" + std::to_string(ranks) + "}}",
                        "model.embed_tokens.weight", "lm_head.weight", rows, ranks);
}

// 151936 rows: Megatron pads to 128 for each rank, vLLM and SGLang to 64, SGLang at six ranks to
// 64 for each. Not padded over six: torch.chunk.
TEST(FrameworkCases, VocabulariesOfOtherPadding) {
  const NaiveReplay replay;
  const SmallModel model = Vocabulary(151936);
  const auto megatron = [&](std::int64_t rows, std::int32_t ranks) {
    return MegatronVocabulary(model, rows, ranks);
  };
  const std::vector<std::pair<FrameworkSide, FrameworkSide>> jobs{
      {megatron(152064, 4), EngineVocabulary(model, "vllm", 151936, 8)},
      {megatron(152064, 2), EngineVocabulary(model, "sglang", 152064, 6)},
      {megatron(152576, 8), FsdpSide(model, 6)},
      {EngineVocabulary(model, "sglang", 152064, 6), megatron(152576, 8)},
  };
  for (const auto& [source, destination] : jobs) {
    SCOPED_TRACE(source.layout + " to " + destination.layout);
    replay.ExpectRight(MakeJob(model, source, destination));
  }
}

// Sizes at which whole shards are padding.
TEST(FrameworkCases, ShardsOfPaddingAlone) {
  const NaiveReplay replay;
  const SmallModel model = Vocabulary(70);
  replay.ExpectRight(MakeJob(model, EngineVocabulary(model, "vllm", 128, 8),
                             EngineVocabulary(model, "sglang", 192, 3)));
}

// One table, tied: on one stage it is the embedding alone, on two the last has a copy, whose name
// is the framework's.
TEST(FrameworkCases, TiedHeadsOnOneStageAndTwo) {
  const NaiveReplay replay;
  const SmallModel model{{{"model.embed_tokens.weight", {64, 2}}},
                         "llama",
                         R"({"hidden_size": 2, "num_hidden_layers": 2, "num_attention_heads": 1,
                             "vocab_size": 64, "tie_word_embeddings": true})"};
  const auto side = [&](const std::string& layout, const std::vector<std::string>& names) {
    return FrameworkSide{layout, static_cast<std::int32_t>(names.size()),
                         [&model, names](std::int64_t rank) -> std::vector<NaiveParameter> {
                           return {{names[static_cast<std::size_t>(rank)], DType::kBF16,
                                    model.Of("model.embed_tokens.weight")}};
                         }};
  };
  const std::string embedding = "model.embed_tokens.weight";
  const std::vector<FrameworkSide> one{
      side(R"({"megatron": {}})", {"embedding.word_embeddings.weight"}),
      side(R"({"hf": {}})", {embedding}), side(R"({"sglang": {}})", {embedding})};
  const std::vector<FrameworkSide> two{
      side(R"({"megatron": {"pipeline": 2}})",
           {"embedding.word_embeddings.weight", "output_layer.weight"}),
      side(R"({"vllm": {"pipeline": 2}})", {embedding, embedding}),
      side(R"({"sglang": {"pipeline": 2}})", {embedding, "lm_head.weight"}),
      side(R"({"fsdp": {"pipeline": 2}})", {embedding, "lm_head.weight"}),
      side(R"({"torchtitan": {"pipeline": 2}})", {"tok_embeddings.weight", "lm_head.weight"})};
  for (const FrameworkSide& source : one) {
    for (const FrameworkSide& destination : two) {
      SCOPED_TRACE(source.layout + " to " + destination.layout);
      replay.ExpectRight(MakeJob(model, source, destination));
      replay.ExpectRight(MakeJob(model, destination, source));
    }
  }
}

SmallModel Experts(std::int64_t count, std::int64_t groups) {
  SmallModel model;
  std::vector<std::string> numbers;
  for (std::int64_t e = 0; e < count; ++e) numbers.push_back(std::to_string(e));
  std::sort(numbers.begin(), numbers.end());
  for (const std::string& number : numbers) {
    const std::string name = "model.layers.0.mlp.experts." + number;
    model.tensors.push_back({name + ".down_proj.weight", {3, 2}});
    model.tensors.push_back({name + ".gate_proj.weight", {2, 3}});
    model.tensors.push_back({name + ".up_proj.weight", {2, 3}});
  }
  model.family = "deepseek_v3";
  model.config = R"({"hidden_size": 3, "num_hidden_layers": 1, "moe_intermediate_size": 2,
                     "n_routed_experts": )" +
                 std::to_string(count) + R"(, "n_group": )" + std::to_string(groups) + "}";
  return model;
}

// vLLM's stacks of whole experts; `slots` are those of a rank.
FrameworkSide VllmExperts(const SmallModel& model, const std::string& fields, std::int32_t ranks,
                          std::function<Longs(std::int64_t rank)> slots) {
  return {R"({"vllm": {"tensor": )" + std::to_string(ranks) + R"(, "expertParallel": true)" +
              fields + "}}",
          ranks, [=](std::int64_t rank) -> std::vector<NaiveParameter> {
            std::vector<NaiveArray> gate_up;
            std::vector<NaiveArray> down;
            for (const std::int64_t expert : slots(rank)) {
              const std::string name = "model.layers.0.mlp.experts." + std::to_string(expert);
              gate_up.push_back(Concatenate(
                  {model.Of(name + ".gate_proj.weight"), model.Of(name + ".up_proj.weight")}, 0));
              down.push_back(model.Of(name + ".down_proj.weight"));
            }
            const std::string stack = "model.layers.0.mlp.experts.routed_experts.";
            return {{stack + "w13_weight", DType::kBF16, Stack(gate_up)},
                    {stack + "w2_weight", DType::kBF16, Stack(down)}};
          }};
}

TEST(FrameworkCases, ExpertsLinearAndRoundRobin) {
  const NaiveReplay replay;
  const auto linear = [](std::int64_t each) {
    return [=](std::int64_t rank) { return Range(rank * each, (rank + 1) * each); };
  };
  const auto round_robin = [](std::int64_t rank) {
    return Longs{rank, rank + 4, rank + 8, rank + 12};
  };
  const std::string asked = R"(, "expertPlacement": "roundRobin")";
  const SmallModel grouped = Experts(16, 4);
  replay.ExpectRight(
      MakeJob(grouped, FsdpSide(grouped, 2), VllmExperts(grouped, "", 4, linear(4))));
  replay.ExpectRight(
      MakeJob(grouped, FsdpSide(grouped, 2), VllmExperts(grouped, asked, 4, round_robin)));
  // Without grouped routing vLLM deals linearly, whatever is asked for.
  const SmallModel plain = Experts(16, 1);
  replay.ExpectRight(MakeJob(plain, FsdpSide(plain, 2), VllmExperts(plain, asked, 4, linear(4))));
  // From one to the other, and uneven: the first ranks hold one more.
  replay.ExpectRight(MakeJob(grouped, VllmExperts(grouped, asked, 4, round_robin),
                             VllmExperts(grouped, "", 2, linear(8))));
  const SmallModel ten = Experts(10, 1);
  replay.ExpectRight(MakeJob(ten, FsdpSide(ten, 2), VllmExperts(ten, "", 4, [](std::int64_t rank) {
                               return rank < 2 ? Range(3 * rank, 3 * rank + 3)
                                               : Range(6 + 2 * (rank - 2), 8 + 2 * (rank - 2));
                             })));
}

// 128 experts and 16 copies over eight ranks, 18 slots each: slot 128 + i is expert i again. Asking
// for round robin changes nothing.
TEST(FrameworkCases, RedundantExperts) {
  const NaiveReplay replay;
  const SmallModel model = Experts(128, 8);
  const auto slots = [](std::int64_t rank) {
    Longs experts = Range(18 * rank, 18 * (rank + 1));
    for (std::int64_t& expert : experts) expert %= 128;
    return experts;
  };
  const std::string fields = R"(, "redundantExperts": 16, "expertPlacement": "roundRobin")";
  replay.ExpectRight(MakeJob(model, FsdpSide(model, 4), VllmExperts(model, fields, 8, slots)));
}

// So many copies that a rank has several of one expert: of four experts and eight copies over two
// ranks, six slots each, 0 1 2 3 0 1 and 2 3 0 1 2 3.
TEST(FrameworkCases, SeveralCopiesOfAnExpertOnOneRank) {
  const NaiveReplay replay;
  const SmallModel model = Experts(4, 1);
  const auto slots = [](std::int64_t rank) {
    return rank == 0 ? Longs{0, 1, 2, 3, 0, 1} : Longs{2, 3, 0, 1, 2, 3};
  };
  const FrameworkSide copies = VllmExperts(model, R"(, "redundantExperts": 8)", 2, slots);
  replay.ExpectRight(MakeJob(model, FsdpSide(model, 2), copies));
  replay.ExpectRight(MakeJob(model, copies, FsdpSide(model, 2)));
}

}  // namespace
}  // namespace reshard
