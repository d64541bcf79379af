// Placements that broke somebody, from one side to the other: uneven cuts of two kinds, empty
// shards and scalars, strided shards, several cuts of one dim, many dims, many shards, ranks of
// both sides.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/end_to_end/case_job.h"
#include "tests/end_to_end/naive_replay.h"

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

// A mesh, and what its axes do to every tensor; words and meaning side by side.
struct Cut {
  Longs axes;
  std::vector<NaivePlacement> placements;
  std::vector<int> order;  // of application; none: as the axes stand
};

NaivePlacement Dim(int dim, std::int64_t split = 1, std::string cut = "chunk") {
  return {dim, split, std::move(cut), {}};
}
NaivePlacement Replicated() { return {}; }

Longs CoordinateOf(const Longs& axes, std::int64_t rank) {
  Longs coordinate(axes.size());
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    coordinate[axis] = rank % axes[axis];
    rank /= axes[axis];
  }
  return coordinate;
}

// A side on which `cut` holds for every tensor.
CaseSide SideOf(std::int32_t first_gpu, const std::vector<CaseTensor>& tensors, const Cut& cut) {
  std::string axes;
  std::string words;
  std::string order;
  std::int64_t ranks = 1;
  bool balanced = false;
  for (std::size_t axis = 0; axis < cut.axes.size(); ++axis) {
    const std::string comma = axis == 0 ? "" : ", ";
    axes += comma + R"([")" + std::to_string(axis) + "\", " + std::to_string(cut.axes[axis]) + "]";
    ranks *= cut.axes[axis];
    const NaivePlacement& placement = cut.placements[axis];
    const std::string dim = std::to_string(placement.dim);
    balanced = balanced || placement.cut == "balanced";
    words += comma + "\"" +
             (placement.dim < 0     ? "R"
              : placement.split > 1 ? "_S(" + dim + "," + std::to_string(placement.split) + ")"
                                    : "S(" + dim + ")") +
             "\"";
  }
  std::vector<int> applied = cut.order;
  for (int axis = 0; applied.size() < cut.axes.size(); ++axis) applied.push_back(axis);
  for (const int axis : applied) {
    order += (order.empty() ? "\"" : ", \"") + std::to_string(axis) + "\"";
  }
  CaseSide side;
  side.first_gpu = first_gpu;
  side.ranks = static_cast<std::int32_t>(ranks);
  side.layout = R"({"meshes": {"m": {"axes": [)" + axes +
                R"(]}}, "tensors": [{"match": "*", "mesh": "m", "placements": [)" + words +
                R"(], "order": [)" + order + "]" + (balanced ? R"(, "split": "balanced")" : "") +
                "}]}";
  side.held = [=](std::int32_t rank) {
    std::vector<NaiveParameter> held;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      held.push_back({tensors[t].name, tensors[t].dtype,
                      Place(Whole(tensors, static_cast<std::int32_t>(t)), cut.axes,
                            CoordinateOf(cut.axes, rank), cut.placements, applied)});
    }
    return held;
  };
  return side;
}

void ExpectMoves(const std::vector<CaseTensor>& tensors, const Cut& source, const Cut& destination,
                 std::int32_t destination_gpu = -1) {
  const CaseSide from = SideOf(0, tensors, source);
  const CaseSide to =
      SideOf(destination_gpu < 0 ? from.ranks : destination_gpu, tensors, destination);
  const NaiveJob job = MakeCase(tensors, from, to);
  NaiveReplay().ExpectRight(job);
  EXPECT_FALSE(::testing::Test::HasFailure()) << job.job_json;
}

// Case C2: two codes that both say "equal" cut 10 over 4 as 3,3,3,1 and as 3,3,2,2.
TEST(PlacementCasesTest, UnevenRowsInTwoKindsOfSplit) {
  for (const std::int64_t rows : {10, 11, 13, 3, 4}) {
    const std::vector<CaseTensor> tensors = {{"t", {rows, 3}}};
    for (const auto& [from, to] : {std::pair(2, 4), std::pair(4, 2), std::pair(4, 3)}) {
      const Cut chunks{{from}, {Dim(0)}, {}};
      const Cut balanced{{to}, {Dim(0, 1, "balanced")}, {}};
      ExpectMoves(tensors, chunks, balanced);
      ExpectMoves(tensors, balanced, chunks);
    }
  }
}

// Case C3: fewer rows than ranks, no rows at all, a scalar.
TEST(PlacementCasesTest, EmptyShardsAndScalars) {
  for (const std::int64_t rows : {2, 5, 6, 0}) {
    const std::vector<CaseTensor> tensors = {{"t", {rows, 3}, DType::kF32}, {"u", {4, 2}}};
    ExpectMoves(tensors, {{8}, {Dim(0)}, {}}, {{4}, {Dim(0)}, {}});
    ExpectMoves(tensors, {{4}, {Dim(0)}, {}}, {{2, 2}, {Dim(1), Dim(0)}, {}});
  }
  ExpectMoves({{"scalar", {}, DType::kF32}}, {{3}, {Replicated()}, {}}, {{5}, {Replicated()}, {}});
}

// Case C4: strided shards, and one dim cut by two axes in either order.
TEST(PlacementCasesTest, StridedShardsAndTwoCutsOfOneDim) {
  for (const std::int64_t rows : {5, 8, 9, 11}) {
    const std::vector<CaseTensor> tensors = {{"t", {rows, 2}}};
    const Cut strided{{2}, {Dim(0, 2)}, {}};
    const Cut twice{{2, 4}, {Dim(0), Dim(0)}, {}};
    const Cut turned{{2, 4}, {Dim(0), Dim(0)}, {1, 0}};
    const Cut both{{2, 2}, {Dim(0, 2), Dim(0)}, {}};
    for (const Cut* from : {&strided, &twice, &turned, &both}) {
      for (const Cut* to : {&strided, &twice, &turned, &both}) ExpectMoves(tensors, *from, *to);
    }
  }
}

// Case C5: one tensor of experts cut by expert and by row at once.
TEST(PlacementCasesTest, ExpertsCutByExpertAndByRow) {
  for (const auto& [experts, rows] : {std::pair(24, 16), std::pair(10, 7), std::pair(3, 9)}) {
    const std::vector<CaseTensor> tensors = {{"experts", {experts, rows, 2}}};
    for (const auto& [by_expert, by_row] : {std::pair(8, 4), std::pair(2, 8), std::pair(3, 5)}) {
      const Cut both{{by_expert, by_row}, {Dim(0), Dim(1)}, {}};
      ExpectMoves(tensors, both, {{8}, {Dim(1)}, {}});
      ExpectMoves(tensors, {{6}, {Dim(1)}, {}}, both);
    }
  }
}

// Case C13: ranks 0-7 and 4-11; the same ranks on both sides with other placements.
TEST(PlacementCasesTest, RanksOfBothSides) {
  const std::vector<CaseTensor> tensors = {{"t", {16, 12}}, {"u", {24}}};
  const Cut rows{{8}, {Dim(0)}, {}};
  const Cut mixed{{2, 4}, {Replicated(), Dim(0)}, {}};
  ExpectMoves(tensors, rows, rows, 4);
  ExpectMoves(tensors, rows, mixed, 4);
  ExpectMoves(tensors, rows, mixed, 0);
  ExpectMoves(tensors, mixed, rows, 0);
}

// Case C14: more than 16 sources for one destination shard and more than 64 destinations for one
// source shard; 4 and 5 dims.
TEST(PlacementCasesTest, ManyShardsAndManyDims) {
  const std::vector<CaseTensor> tensors = {{"five", {72, 2, 3, 2, 2}}, {"four", {72, 3, 2, 2}}};
  ExpectMoves(tensors, {{24}, {Dim(0)}, {}}, {{1}, {Dim(0)}, {}});
  ExpectMoves(tensors, {{1}, {Dim(0)}, {}}, {{72}, {Dim(0)}, {}});
  ExpectMoves(tensors, {{3, 2}, {Dim(2), Dim(0)}, {}}, {{2, 2}, {Dim(3), Dim(1)}, {}});
}

}  // namespace
}  // namespace reshard
