// Parameters that broke somebody, from one side to the other: fused and interleaved projections,
// replicated heads, padded vocabularies, tied embeddings, experts in every order, scales that
// several ranks share, names that only one side has. What a rank must hold is written out row by
// row from the rule of the case, not by the words of the layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/case_job.h"
#include "tests/end_to_end/naive_replay.h"
#include "tests/end_to_end/naive_rows.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

std::string Number(std::int64_t number) { return std::to_string(number); }

// A side whose layout has one mesh "m" of `axes` over its ranks and the parameters and rules given.
CaseSide SideWith(std::int32_t first_gpu, const std::vector<std::pair<std::string, int>>& axes,
                  const std::string& words,
                  std::function<std::vector<NaiveParameter>(std::int32_t)> held) {
  CaseSide side;
  side.first_gpu = first_gpu;
  std::string text;
  for (const auto& [name, size] : axes) {
    text += (text.empty() ? "" : ", ") + ("[\"" + name + "\", " + Number(size) + "]");
    side.ranks *= size;
  }
  side.layout = R"json({"meshes": {"m": {"axes": [)json" + text + "]}}, " + words + "}";
  side.held = std::move(held);
  return side;
}

void ExpectRight(const NaiveJob& job) {
  NaiveReplay().ExpectRight(job);
  EXPECT_FALSE(::testing::Test::HasFailure()) << job.job_json << "\n" << job.model_json;
}

// Every tensor cut along dim 0 over `ranks`.
CaseSide EvenRows(std::int32_t first_gpu, int ranks, const std::vector<CaseTensor>& tensors) {
  return SideWith(first_gpu, {{"x", ranks}},
                  R"json("tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}])json",
                  [=](std::int32_t rank) {
                    std::vector<NaiveParameter> held;
                    for (std::size_t t = 0; t < tensors.size(); ++t) {
                      const auto rows =
                          RowsOf(static_cast<std::int32_t>(t), 0, tensors[t].shape[0]);
                      held.push_back({tensors[t].name, tensors[t].dtype,
                                      ArrayOf(Chunk(rows, ranks, rank), tensors[t].shape[1])});
                    }
                    return held;
                  });
}

struct Heads {
  std::int64_t query;
  std::int64_t kv;
  std::int64_t head_rows;
  int source_ranks;
  int copies;  // of each KV head on the destination, which has kv * copies ranks
};

// Case C6: q, k and v stored as one, per KV group [query rows, K, V], cut by raw rows: a rank
// boundary splits a head. The destination has them apart, KV heads replicated (case C7: ranks 2i
// and 2i + 1 hold the same rows).
TEST(ParameterCasesTest, QkvByKvGroupCutByRawRows) {
  for (const Heads& h : {Heads{64, 2, 4, 8, 4}, Heads{8, 2, 3, 4, 1}, Heads{16, 4, 2, 8, 2},
                         Heads{4, 4, 3, 5, 2}, Heads{6, 1, 2, 4, 8}}) {
    const std::int64_t width = 3;
    const std::vector<CaseTensor> tensors = {{"k", {h.kv * h.head_rows, width}},
                                             {"q", {h.query * h.head_rows, width}},
                                             {"v", {h.kv * h.head_rows, width}}};
    std::vector<Row> fused;
    const std::int64_t group_rows = h.query / h.kv * h.head_rows;
    for (std::int64_t g = 0; g < h.kv; ++g) {
      Append(fused, RowsOf(1, g * group_rows, (g + 1) * group_rows));
      Append(fused, RowsOf(0, g * h.head_rows, (g + 1) * h.head_rows));
      Append(fused, RowsOf(2, g * h.head_rows, (g + 1) * h.head_rows));
    }
    const CaseSide source = SideWith(
        0, {{"tp", h.source_ranks}},
        R"json("parameters": [{"name": "qkv", "interleave": 0, "groups": )json" + Number(h.kv) +
            R"json(, "parts": ["q", "k", "v"], "mesh": "m", "placements": ["S(0)"]}])json",
        [=](std::int32_t rank) {
          return std::vector<NaiveParameter>{
              {"qkv", DType::kBF16, ArrayOf(Chunk(fused, h.source_ranks, rank), width)}};
        });
    const CaseSide destination = SideWith(
        source.ranks, {{"head", static_cast<int>(h.kv)}, {"copy", h.copies}},
        R"json("tensors": [{"match": "q", "mesh": "m", "placements": ["S(0)", "S(0)"]},
                       {"match": "*", "mesh": "m", "placements": ["S(0)", "R"]}])json",
        [=](std::int32_t rank) {
          const std::int64_t head = rank / h.copies;
          const auto of_head = RowsOf(1, head * group_rows, (head + 1) * group_rows);
          std::vector<NaiveParameter> held;
          held.push_back(
              {"q", DType::kBF16, ArrayOf(Chunk(of_head, h.copies, rank % h.copies), width)});
          for (const auto& [name, tensor] : {std::pair("k", 0), std::pair("v", 2)}) {
            held.push_back(
                {name, DType::kBF16,
                 ArrayOf(RowsOf(tensor, head * h.head_rows, (head + 1) * h.head_rows), width)});
          }
          return held;
        });
    ExpectRight(MakeCase(tensors, source, destination));
    // And back, where several ranks hold what one needs.
    CaseSide from = destination;
    CaseSide to = source;
    from.first_gpu = 0;
    to.first_gpu = from.ranks;
    ExpectRight(MakeCase(tensors, from, to));
  }
}

// Case C7 with q, k and v fused per rank: 4 KV heads at TP 8, 8 at TP 16.
TEST(ParameterCasesTest, KvHeadsReplicatedInAFusedProjection) {
  for (const auto& [kv, ranks] : {std::pair(4, 8), std::pair(8, 16), std::pair(2, 8)}) {
    const std::int64_t head_rows = 4;
    const std::int64_t query_rows = 16 * head_rows;
    const std::int64_t width = 2;
    const int copies = ranks / kv;
    const std::vector<CaseTensor> tensors = {
        {"k", {kv * head_rows, width}}, {"q", {query_rows, width}}, {"v", {kv * head_rows, width}}};
    const CaseSide destination =
        SideWith(2, {{"head", kv}, {"copy", copies}},
                 R"json("tensors": [{"match": "q", "mesh": "m", "placements": ["S(0)", "S(0)"]},
                       {"match": "*", "mesh": "m", "placements": ["S(0)", "R"]}],
           "parameters": [{"name": "qkv", "concat": 0, "parts": ["q", "k", "v"]}])json",
                 [=, ranks = ranks](std::int32_t rank) {
                   std::vector<Row> rows = Chunk(RowsOf(1, 0, query_rows), ranks, rank);
                   const std::int64_t head = rank / copies;
                   Append(rows, RowsOf(0, head * head_rows, (head + 1) * head_rows));
                   Append(rows, RowsOf(2, head * head_rows, (head + 1) * head_rows));
                   return std::vector<NaiveParameter>{{"qkv", DType::kBF16, ArrayOf(rows, width)}};
                 });
    ExpectRight(MakeCase(tensors, EvenRows(0, 2, tensors), destination));
    // The same as one array of repeated heads, cut by rows.
    const CaseSide repeated = SideWith(
        2, {{"tp", ranks}},
        R"json("tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}],
           "parameters": [{"name": "k", "parts": ["k"], "mesh": "m", "placements": ["S(0)"],
                           "then": [{"splitDim": [0, 4]}, {"repeat": [0, )json" +
            Number(copies) + R"json(]}, {"mergeDims": 0}]}])json",
        [=, ranks = ranks, kv = kv](std::int32_t rank) {
          const std::int64_t head = rank / copies;
          return std::vector<NaiveParameter>{
              {"k", DType::kBF16,
               ArrayOf(RowsOf(0, head * head_rows, (head + 1) * head_rows), width)},
              {"q", DType::kBF16, ArrayOf(Chunk(RowsOf(1, 0, query_rows), ranks, rank), width)},
              {"v", DType::kBF16,
               ArrayOf(Chunk(RowsOf(2, 0, kv * head_rows), ranks, rank), width)}};
        });
    ExpectRight(MakeCase(tensors, EvenRows(0, 2, tensors), repeated));
  }
}

// The vocabulary padded to a multiple, cut over `ranks`; `word` is pad or zeroPad.
CaseSide PaddedVocabulary(std::int32_t first_gpu, std::int64_t rows, std::int64_t multiple,
                          int ranks, const std::string& word) {
  const std::int64_t padded = (rows + multiple - 1) / multiple * multiple;
  return SideWith(first_gpu, {{"tp", ranks}},
                  R"json("parameters": [{"name": "embed", "parts": ["embed"], "then": [{")json" +
                      word + R"json(": [0, )json" + Number(padded) +
                      R"json(]}], "mesh": "m", "placements": ["S(0)"]}])json",
                  [=](std::int32_t rank) {
                    std::vector<Row> all = RowsOf(0, 0, rows);
                    all.resize(static_cast<std::size_t>(padded),
                               word == "pad" ? kPadRow : kZeroRow);
                    return std::vector<NaiveParameter>{
                        {"embed", DType::kBF16, ArrayOf(Chunk(all, ranks, rank), 2)}};
                  });
}

// Case C8: Megatron pads to a multiple of 128 * TP, vLLM to one of 64; the crop crosses shards.
TEST(ParameterCasesTest, PaddedVocabulary) {
  for (const std::int64_t rows : {151936, 1000, 130}) {
    const std::vector<CaseTensor> tensors = {{"embed", {rows, 2}}};
    const CaseSide four = PaddedVocabulary(0, rows, 4 * 128, 4, "pad");
    const CaseSide eight = PaddedVocabulary(0, rows, 8 * 128, 8, "pad");
    ExpectRight(MakeCase(tensors, four, PaddedVocabulary(4, rows, 8 * 128, 8, "pad")));
    ExpectRight(MakeCase(tensors, eight, PaddedVocabulary(8, rows, 64, 4, "zeroPad")));
    ExpectRight(MakeCase(tensors, eight, EvenRows(8, 6, tensors)));
    ExpectRight(MakeCase(tensors, EvenRows(0, 6, tensors),
                         PaddedVocabulary(6, rows, 6 * 64, 6, "zeroPad")));
  }
}

// One tensor as two parameters, on ranks of their own (two stages) or on one (`stages` 1).
CaseSide TiedSide(std::int32_t first_gpu, int stages, std::int64_t rows) {
  CaseSide side;
  side.first_gpu = first_gpu;
  side.ranks = 2 * stages;
  const std::string last = stages == 1 ? "0-1" : "2-3";
  side.layout =
      R"json({"meshes": {"first": {"axes": [["tp", 2]], "ranks": "0-1"},
                     "last": {"axes": [["tp", 2]], "ranks": ")json" +
      last + R"json("}},
          "parameters": [{"name": "embed", "parts": ["embed"], "mesh": "first",
                          "placements": ["S(0)"]},
                         {"name": "head", "parts": ["embed"], "mesh": "last",
                          "placements": ["S(0)"]}]
})json";
  side.held = [=](std::int32_t rank) {
    const NaiveArray part = ArrayOf(Chunk(RowsOf(0, 0, rows), 2, rank % 2), 3);
    std::vector<NaiveParameter> held;
    if (rank < 2) held.push_back({"embed", DType::kBF16, part});
    if (rank / 2 == stages - 1) held.push_back({"head", DType::kBF16, part});
    return held;
  };
  return side;
}

// Case C9: the head is tied to the embedding; pipelines of 1 and 2 stages, with and without a copy
// of its own where both are on one rank. A rank with both gets the bytes once and writes them
// twice.
TEST(ParameterCasesTest, TiedEmbeddings) {
  for (const std::int64_t rows : {8, 7}) {
    const std::vector<CaseTensor> tensors = {{"embed", {rows, 3}}};
    for (const int stages : {1, 2}) {
      const NaiveJob job = MakeCase(tensors, EvenRows(0, 4, tensors), TiedSide(4, stages, rows));
      ExpectRight(job);
      const Result<Plan> plan = NaiveReplay().Compile(job);
      ASSERT_TRUE(plan) << ToString(plan.error());
      std::int64_t bytes = 0;
      for (const DemandClass& c : plan->demand.classes) {
        bytes += c.bytes * static_cast<std::int64_t>(plan->demand.Needers(c).size());
      }
      EXPECT_EQ(bytes, stages * rows * 3 * 2);
      ExpectRight(MakeCase(tensors, TiedSide(0, stages, rows), EvenRows(4, 4, tensors)));
      ExpectRight(
          MakeCase(tensors, TiedSide(0, stages, rows), TiedSide(2 * stages, 3 - stages, rows)));
      // Where they are: the second copy is written from the first.
      ExpectRight(MakeCase(tensors, TiedSide(0, 1, rows), TiedSide(0, 1, rows)));
    }
  }
}

// [experts, rows, 2] of tensors "e.0", "e.1", ..: which expert stands where on a rank.
NaiveArray Experts(const Longs& experts, const std::vector<std::int32_t>& tensor_of,
                   std::int64_t rows) {
  NaiveArray array{{static_cast<std::int64_t>(experts.size()), rows, 2}, {}};
  for (const std::int64_t expert : experts) {
    for (std::int64_t k = 0; k < rows * 2; ++k) {
      array.elements.push_back({tensor_of[static_cast<std::size_t>(expert)], k});
    }
  }
  return array;
}

struct ExpertCase {
  std::int64_t experts;
  std::int64_t redundant;
  int ranks;
};

// Case C10: experts linear and round robin over the ranks; redundant copies (copy p >= E is expert
// (p - E) mod E), linear over the ranks, now and then two copies on one rank.
TEST(ParameterCasesTest, ExpertsInEveryOrder) {
  for (const ExpertCase& e : {ExpertCase{16, 0, 4}, ExpertCase{128, 16, 8}, ExpertCase{12, 0, 3},
                              ExpertCase{6, 2, 4}, ExpertCase{2, 4, 2}, ExpertCase{3, 9, 4}}) {
    const std::int64_t rows = 3;
    std::vector<CaseTensor> tensors;
    for (std::int64_t i = 0; i < e.experts; ++i) tensors.push_back({"e." + Number(i), {rows, 2}});
    std::sort(tensors.begin(), tensors.end(),
              [](const CaseTensor& a, const CaseTensor& b) { return a.name < b.name; });
    std::vector<std::int32_t> tensor_of(tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      tensor_of[std::stoul(tensors[t].name.substr(2))] = static_cast<std::int32_t>(t);
    }
    const std::int64_t physical = e.experts + e.redundant;
    const std::int64_t per_rank = physical / e.ranks;
    std::string indices = "0";
    for (std::int64_t p = 0; p < physical; ++p) {
      indices += ", " + Number(p < e.experts ? p : (p - e.experts) % e.experts);
    }
    const auto parameter = [&](const std::string& placement, const std::string& then) {
      return R"json("parameters": [{"name": "experts", "stack": 0, "parts": ["e.{i}"], "mesh": "m", )json"
             R"json("placements": [")json" +
             placement + R"json("])json" + then + "}]";
    };
    const CaseSide linear =
        SideWith(2, {{"ep", e.ranks}},
                 parameter("S(0)", R"json(, "then": [{"take": [)json" + indices + "]}]"),
                 [=](std::int32_t rank) {
                   Longs experts;
                   for (std::int64_t p = rank * per_rank; p < (rank + 1) * per_rank; ++p) {
                     experts.push_back(p < e.experts ? p : (p - e.experts) % e.experts);
                   }
                   return std::vector<NaiveParameter>{
                       {"experts", DType::kBF16, Experts(experts, tensor_of, rows)}};
                 });
    ExpectRight(MakeCase(tensors, EvenRows(0, 2, tensors), linear));
    if (e.redundant > 0) continue;
    const CaseSide round_robin =
        SideWith(2, {{"ep", e.ranks}}, parameter("_S(0, " + Number(per_rank) + ")", ""),
                 [=](std::int32_t rank) {
                   Longs experts;
                   for (std::int64_t p = rank; p < e.experts; p += e.ranks) experts.push_back(p);
                   return std::vector<NaiveParameter>{
                       {"experts", DType::kBF16, Experts(experts, tensor_of, rows)}};
                 });
    ExpectRight(MakeCase(tensors, EvenRows(0, 2, tensors), round_robin));
    CaseSide from = linear;
    from.first_gpu = 0;
    CaseSide to = round_robin;
    to.first_gpu = e.ranks;
    ExpectRight(MakeCase(tensors, from, to));
  }
}

// Case C11: a weight of 128-blocks (here `block` rows) cut into shards of half and a quarter of a
// block: its scales are repeated onto the finer grid, several ranks own copies of one.
TEST(ParameterCasesTest, ScalesOfBlocksThatShardsCut) {
  for (const auto& [blocks, parts] : {std::pair(4, 2), std::pair(2, 4), std::pair(3, 1)}) {
    const std::int64_t block = 8;
    const int ranks = blocks * parts;
    const std::vector<CaseTensor> tensors = {{"scale", {blocks, 3}, DType::kF32},
                                             {"weight", {blocks * block, 6}, DType::kF8E4M3}};
    // Columns are refined by two on every rank: each scale stands there twice.
    const CaseSide destination = SideWith(
        2, {{"tp", ranks}},
        R"json("tensors": [{"match": "weight", "mesh": "m", "placements": ["S(0)"]}],
           "parameters": [{"name": "scale", "parts": ["scale"], "then": [{"repeat": [0, )json" +
            Number(parts) +
            R"json(]}, {"repeat": [1, 2]}], "mesh": "m", "placements": ["S(0)"]}])json",
        [=, parts = parts](std::int32_t rank) {
          NaiveArray scale{{1, 6}, {}};
          for (std::int64_t c = 0; c < 6; ++c) {
            scale.elements.push_back({0, rank / parts * 3 + c / 2});
          }
          const std::int64_t rows = block / parts;
          return std::vector<NaiveParameter>{
              {"scale", DType::kF32, std::move(scale)},
              {"weight", DType::kF8E4M3, ArrayOf(RowsOf(1, rank * rows, (rank + 1) * rows), 6)}};
        });
    ExpectRight(MakeCase(tensors, EvenRows(0, 2, tensors), destination));
  }
}

// gpt-oss: gate and up rows stand interleaved (gate, up, gate, up, ..) in the source; the engine
// has gate | up per rank, and a bias that only rank 0 of the tensor-parallel ranks adds.
TEST(ParameterCasesTest, InterleavedRowsAndABiasOfOneRank) {
  for (const auto& [rows, ranks] : {std::pair(12, 4), std::pair(6, 2), std::pair(5, 1)}) {
    const std::int64_t width = 2;
    const std::vector<CaseTensor> tensors = {
        {"bias", {1, width}}, {"gate", {rows, width}}, {"up", {rows, width}}};
    std::vector<Row> mixed;
    for (std::int64_t r = 0; r < rows; ++r) {
      mixed.push_back({1, r});
      mixed.push_back({2, r});
    }
    const CaseSide source =
        SideWith(0, {{"x", 3}},
                 R"json("tensors": [{"match": "bias", "mesh": "m", "placements": ["R"]}],
           "parameters": [{"name": "gate_up", "interleave": 0, "groups": )json" +
                     Number(rows) +
                     R"json(, "parts": ["gate", "up"], "mesh": "m", "placements": ["S(0)"]}])json",
                 [=](std::int32_t rank) {
                   return std::vector<NaiveParameter>{
                       {"bias", DType::kBF16, ArrayOf({{0, 0}}, width)},
                       {"gate_up", DType::kBF16, ArrayOf(Chunk(mixed, 3, rank), width)}};
                 });
    const CaseSide destination =
        SideWith(3, {{"tp", ranks}},
                 R"json("tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}],
           "parameters": [{"name": "bias", "parts": ["bias"], "mesh": "m", "placements": ["R"],
                           "zeroExcept": {"tp": [0]}},
                          {"name": "w13", "concat": 0, "parts": ["gate", "up"]}])json",
                 [=, rows = rows, ranks = ranks](std::int32_t rank) {
                   std::vector<Row> halves = Chunk(RowsOf(1, 0, rows), ranks, rank);
                   Append(halves, Chunk(RowsOf(2, 0, rows), ranks, rank));
                   return std::vector<NaiveParameter>{
                       {"bias", DType::kBF16, ArrayOf({rank == 0 ? Row{0, 0} : kZeroRow}, width)},
                       {"w13", DType::kBF16, ArrayOf(halves, width)}};
                 });
    ExpectRight(MakeCase(tensors, source, destination));
  }
}

// Row permutations: of each head of `rows` rows, row 2j + b of one side is row b * rows / 2 + j of
// the other (rotary embeddings in two conventions); transposed on the way.
TEST(ParameterCasesTest, RowsPermutedPerHeadAndTransposed) {
  for (const auto& [heads, rows] : {std::pair(4, 6), std::pair(2, 8), std::pair(3, 2)}) {
    const std::int64_t width = 3;
    const std::vector<CaseTensor> tensors = {{"q", {heads * rows, width}}};
    const CaseSide destination = SideWith(
        2, {{"tp", heads}},
        R"json("parameters": [{"name": "wq", "parts": ["q"], "mesh": "m", "placements": ["S(1)"],
             "then": [{"splitDim": [0, )json" +
            Number(rows) + R"json(]}, {"splitDim": [1, )json" + Number(rows / 2) +
            R"json(]}, {"transpose": [0, 2, 1, 3]}, {"mergeDims": 1}, {"mergeDims": 0},
                      {"transpose": [1, 0]}]}])json",
        [=, rows = rows](std::int32_t rank) {
          NaiveArray array{{width, rows}, {}};
          for (std::int64_t c = 0; c < width; ++c) {
            for (std::int64_t r = 0; r < rows; ++r) {
              const std::int64_t original = rank * rows + r % 2 * (rows / 2) + r / 2;
              array.elements.push_back({0, original * width + c});
            }
          }
          return std::vector<NaiveParameter>{{"wq", DType::kBF16, std::move(array)}};
        });
    ExpectRight(MakeCase(tensors, EvenRows(0, 2, tensors), destination));
  }
}

// A layout of one rank that holds the tensors that `rules` say.
CaseSide OneRank(std::int32_t gpu, const std::string& rules,
                 const std::vector<NaiveParameter>& held) {
  return SideWith(gpu, {{"x", 1}}, R"json("tensors": [)json" + rules + "]",
                  [=](std::int32_t) { return held; });
}

// Case C15: names that only one side has. Nothing is skipped without a word: the error names
// them, options.ignore leaves them where they are, the notices list them.
TEST(ParameterCasesTest, NamesThatOnlyOneSideHas) {
  const std::vector<CaseTensor> tensors = {{"draft.head", {4, 2}},
                                           {"gate.bias", {256}, DType::kF32},
                                           {"inv_freq", {8}, DType::kF32},
                                           {"w", {4, 2}}};
  const std::string all = R"json({"match": "*", "mesh": "m", "placements": ["R"]})json";
  const auto lacks = [&](const std::string& name) {
    return R"json({"match": ")json" + name + R"json(", "held": false}, )json" + all;
  };
  const NaiveParameter bias{"gate.bias", DType::kF32, Whole(tensors, 1)};
  const NaiveParameter weight{"w", DType::kBF16, Whole(tensors, 3)};
  const NaiveParameter draft{"draft.head", DType::kBF16, Whole(tensors, 0)};
  const NaiveParameter frequencies{"inv_freq", DType::kF32, Whole(tensors, 2)};
  const NaiveReplay replay;

  // A draft model in the destination; a name that the source dropped.
  const CaseSide whole_destination = OneRank(1, all, {draft, bias, frequencies, weight});
  const Result<Plan> draft_only =
      replay.Compile(MakeCase(tensors, OneRank(0, lacks("draft.*"), {}), whole_destination));
  ASSERT_FALSE(draft_only);
  EXPECT_THAT(ToString(draft_only.error()),
              HasSubstr("only the destination holds tensor draft.head"));
  EXPECT_THAT(ToString(draft_only.error()), HasSubstr("options.ignore"));
  // A buffer that only the trainer has.
  const Result<Plan> buffer_only =
      replay.Compile(MakeCase(tensors, OneRank(0, all, {}), OneRank(1, lacks("inv_freq"), {})));
  ASSERT_FALSE(buffer_only);
  EXPECT_THAT(ToString(buffer_only.error()), HasSubstr("only the source holds tensor inv_freq"));
  // Both, named: the rest moves, float32 buffers too, and the notices say what does not.
  const NaiveJob ignored = MakeCase(tensors, OneRank(0, lacks("draft.*"), {bias, weight}),
                                    OneRank(1, lacks("inv_freq"), {bias, weight}),
                                    R"json({"ignore": ["draft.*", "inv_freq"]})json");
  const Result<Plan> named = replay.Compile(ignored);
  ASSERT_TRUE(named) << ToString(named.error());
  EXPECT_THAT(named->notices.untouched, Contains("draft.head"));
  EXPECT_THAT(named->notices.untouched, Contains("inv_freq"));
  EXPECT_EQ(named->job.tensors.size(), 2u);
  // A misspelt name is no rule's and no part's.
  const Result<Plan> misspelt = replay.Compile(
      MakeCase(tensors,
               SideWith(0, {{"x", 1}},
                        R"json("tensors": [)json" + all +
                            R"json(], "parameters": [{"name": "w", "parts": ["weigth"]}])json",
                        [](std::int32_t) { return std::vector<NaiveParameter>(); }),
               whole_destination));
  ASSERT_FALSE(misspelt);
  EXPECT_THAT(ToString(misspelt.error()),
              HasSubstr("part 'weigth' matches no tensor of the model"));
  // Renamed on one side: another parameter name of the same tensor.
  const CaseSide renamed =
      SideWith(1, {{"x", 1}},
               R"json("tensors": [)json" + all +
                   R"json(], "parameters": [{"name": "module.w", "parts": ["w"]}])json",
               [=](std::int32_t) {
                 return std::vector<NaiveParameter>{
                     draft, bias, frequencies, {"module.w", DType::kBF16, Whole(tensors, 3)}};
               });
  ExpectRight(MakeCase(tensors, OneRank(0, all, {draft, bias, frequencies, weight}), renamed));
}

}  // namespace
}  // namespace reshard
