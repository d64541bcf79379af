#include "compiler/layout/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Placement Parse(std::string_view text) { return *ParsePlacement(text); }

std::vector<std::int64_t> Sizes(Split::Kind kind, std::int64_t size, std::int64_t count) {
  std::vector<std::int64_t> sizes;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const DimRange range = CutDim(kind, size, count, i);
    EXPECT_EQ(range.start, next) << "piece " << i;
    sizes.push_back(range.stop - range.start);
    next = range.stop;
  }
  EXPECT_EQ(next, size);
  return sizes;
}

TEST(PlacementTest, Words) {
  EXPECT_FALSE(Parse("R").Cuts());
  EXPECT_EQ(Parse("S(1)").dim, 1);
  EXPECT_EQ(Parse("S( 1 )").kind, Placement::Kind::kShard);
  EXPECT_EQ(Parse("_S(0, 2)").kind, Placement::Kind::kStridedShard);
  EXPECT_EQ(Parse("_S(3,2)").dim, 3);
  EXPECT_EQ(Parse("_S(3,2)").split, 2);
}

TEST(PlacementTest, PartialIsRefusedByName) {
  for (const char* text : {"P", "P(sum)", "P(avg)"}) {
    const auto placement = ParsePlacement(text);
    ASSERT_FALSE(placement.has_value());
    EXPECT_THAT(placement.error().reason, HasSubstr("is partial"));
  }
}

TEST(PlacementTest, OtherWordsAreRefused) {
  for (const char* text : {"", "r", "S", "S()", "S(-1)", "S(x)", "S(0", "S(0,1)", "S(0)x", "_S(0)",
                           "_S(0,0)", "_S(0,1,2)", "S(99999999999999999999)", "S(4000000000)"}) {
    const auto placement = ParsePlacement(text);
    ASSERT_FALSE(placement.has_value()) << text;
    EXPECT_THAT(placement.error().reason, HasSubstr("is no placement")) << text;
  }
}

// Case C2: two codes that both call their split equal cut 10 over 4 as 3,3,3,1 and 3,3,2,2.
TEST(PlacementTest, ChunkAndBalancedDiffer) {
  EXPECT_THAT(Sizes(Split::Kind::kChunk, 10, 4), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(Sizes(Split::Kind::kBalanced, 10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(Sizes(Split::Kind::kChunk, 10, 2), ElementsAre(5, 5));
  EXPECT_THAT(Sizes(Split::Kind::kBalanced, 10, 2), ElementsAre(5, 5));
}

// Case C3: chunks are ceil(size / count) while they last.
TEST(PlacementTest, MorePiecesThanRows) {
  EXPECT_THAT(Sizes(Split::Kind::kChunk, 2, 8), ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(Sizes(Split::Kind::kChunk, 5, 4), ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(Sizes(Split::Kind::kChunk, 6, 4), ElementsAre(2, 2, 2, 0));
  EXPECT_THAT(Sizes(Split::Kind::kChunk, 0, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(Sizes(Split::Kind::kBalanced, 2, 3), ElementsAre(1, 1, 0));
  EXPECT_THAT(Sizes(Split::Kind::kBalanced, 0, 3), ElementsAre(0, 0, 0));
}

TEST(PlacementTest, LargestSizesDoNotOverflow) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Sizes(Split::Kind::kChunk, kLargest, 2).front(), (kLargest >> 1) + 1);
  EXPECT_EQ(CutDim(Split::Kind::kChunk, kLargest, 1 << 20, (1 << 20) - 1).stop, kLargest);
  EXPECT_EQ(CutDim(Split::Kind::kBalanced, kLargest, 1 << 20, (1 << 20) - 1).stop, kLargest);
}

Mesh MeshOf(std::vector<MeshAxis> axes) {
  std::int64_t size = 1;
  for (const MeshAxis& axis : axes) size *= axis.size;
  Mesh mesh{std::move(axes), {}};
  mesh.ranks.resize(static_cast<std::size_t>(size));
  std::iota(mesh.ranks.begin(), mesh.ranks.end(), 0);
  return mesh;
}

TEST(PlacementTest, MeshesAreRowMajor) {
  const Mesh mesh = MeshOf({{"dp", 2}, {"tp", 4}});
  EXPECT_THAT(mesh.Coordinate(0), ElementsAre(0, 0));
  EXPECT_THAT(mesh.Coordinate(1), ElementsAre(0, 1));
  EXPECT_THAT(mesh.Coordinate(6), ElementsAre(1, 2));
  const Mesh some{{{"x", 2}}, {5, 2}};
  EXPECT_THAT(some.Positions(6), ElementsAre(-1, -1, 1, -1, -1, 0));
}

Sharding ShardingOf(const std::vector<std::string>& placements, std::vector<int> order = {}) {
  Sharding sharding;
  for (const std::string& text : placements) sharding.placements.push_back(Parse(text));
  if (order.empty()) {
    order.resize(placements.size());
    std::iota(order.begin(), order.end(), 0);
  }
  sharding.order = std::move(order);
  return sharding;
}

// The rows of a [rows] tensor that the rank at `coordinate` holds.
std::vector<std::string> Rows(std::int64_t rows, const Sharding& sharding, const Mesh& mesh,
                              const std::vector<std::int64_t>& coordinate) {
  Model model;
  model.tensors = {{"t", DType::kBF16, {rows}}};
  EXPECT_TRUE(CheckSharding(sharding, mesh, model.tensors[0].shape).has_value());
  RankLayoutBuilder builder(model);
  const Block local = LocalBlock(Block::OfTensor(0, {rows}), sharding, mesh, coordinate);
  EXPECT_TRUE(builder.AddParameter("t", DType::kBF16, local).has_value());
  return Contents(model.tensors, *std::move(builder).Build(), "t");
}

// Case C4: torch holds [0, 1, 3] and [2, 4].
TEST(PlacementTest, StridedShardIsTorchs) {
  const Mesh mesh = MeshOf({{"x", 2}});
  EXPECT_THAT(Rows(5, ShardingOf({"_S(0, 2)"}), mesh, {0}), ElementsAre("0", "1", "3"));
  EXPECT_THAT(Rows(5, ShardingOf({"_S(0, 2)"}), mesh, {1}), ElementsAre("2", "4"));
}

TEST(PlacementTest, StridedShardWithMorePiecesThanRows) {
  const Mesh mesh = MeshOf({{"x", 2}});
  // 3 rows into 5 pieces: one row each, two pieces empty; a piece of one row goes to rank 0.
  EXPECT_THAT(Rows(3, ShardingOf({"_S(0, 5)"}), mesh, {0}), ElementsAre("0", "1", "2"));
  EXPECT_THAT(Rows(3, ShardingOf({"_S(0, 5)"}), mesh, {1}), ElementsAre());
  EXPECT_THAT(Rows(0, ShardingOf({"_S(0, 2)"}), mesh, {1}), ElementsAre());
}

// Case C4: 8 rows on (dp 2, tp 4), S(0) twice. dp first: rank (d, t) has row 4 d + t; tp first: row
// 2 t + d, which is also what _S(0, 4) on dp says.
TEST(PlacementTest, TwoAxesOnOneDimInBothOrders) {
  const Mesh mesh = MeshOf({{"dp", 2}, {"tp", 4}});
  for (std::int64_t d = 0; d < 2; ++d) {
    for (std::int64_t t = 0; t < 4; ++t) {
      EXPECT_THAT(Rows(8, ShardingOf({"S(0)", "S(0)"}), mesh, {d, t}),
                  ElementsAre(std::to_string(4 * d + t)));
      EXPECT_THAT(Rows(8, ShardingOf({"S(0)", "S(0)"}, {1, 0}), mesh, {d, t}),
                  ElementsAre(std::to_string(2 * t + d)));
      EXPECT_THAT(Rows(8, ShardingOf({"_S(0, 4)", "S(0)"}), mesh, {d, t}),
                  ElementsAre(std::to_string(2 * t + d)));
    }
  }
}

// Measured with torch 2.15: of 9 rows on (dp 4, tp 2) FSDP2 stores nothing on (3, 0) and row 8 on
// (3, 1), which cutting by tp first says; replaying the placements puts row 8 on (3, 0).
TEST(PlacementTest, StorageAndPlacementsOfTorchDifferForNineRows) {
  const Mesh mesh = MeshOf({{"dp", 4}, {"tp", 2}});
  EXPECT_THAT(Rows(9, ShardingOf({"S(0)", "S(0)"}, {1, 0}), mesh, {3, 0}), ElementsAre());
  EXPECT_THAT(Rows(9, ShardingOf({"S(0)", "S(0)"}, {1, 0}), mesh, {3, 1}), ElementsAre("8"));
  EXPECT_THAT(Rows(9, ShardingOf({"_S(0, 2)", "S(0)"}), mesh, {3, 0}), ElementsAre("8"));
  EXPECT_THAT(Rows(9, ShardingOf({"_S(0, 2)", "S(0)"}), mesh, {3, 1}), ElementsAre());
}

TEST(PlacementTest, GivenSizes) {
  const Mesh mesh = MeshOf({{"x", 2}, {"y", 3}});
  Sharding sharding = ShardingOf({"R", "S(0)"});
  sharding.split = {Split::Kind::kSizes, {{}, {5, 0, 3}}};
  EXPECT_THAT(Rows(8, sharding, mesh, {1, 0}), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(Rows(8, sharding, mesh, {1, 1}), ElementsAre());
  EXPECT_THAT(Rows(8, sharding, mesh, {0, 2}), ElementsAre("5", "6", "7"));
}

TEST(PlacementTest, ShardingsThatDoNotFitAreRefused) {
  const Mesh mesh = MeshOf({{"x", 2}, {"y", 2}});
  const std::vector<std::int64_t> shape = {8, 6};
  const auto reason = [&](const Sharding& sharding) {
    const auto fits = CheckSharding(sharding, mesh, shape);
    return fits ? std::string() : fits.error().reason;
  };
  EXPECT_EQ(reason(ShardingOf({"R"})), "1 placements for 2 mesh axes");
  EXPECT_EQ(reason(ShardingOf({"R", "S(2)"})), "a placement cuts dim 2 of 2 dims");
  const auto with_sizes = [](Sharding sharding, std::vector<std::vector<std::int64_t>> sizes) {
    sharding.split = {Split::Kind::kSizes, std::move(sizes)};
    return sharding;
  };
  EXPECT_EQ(reason(with_sizes(ShardingOf({"R", "S(0)"}), {{5, 3}})),
            "split has 1 lists of sizes for 2 mesh axes");
  EXPECT_EQ(reason(with_sizes(ShardingOf({"R", "S(0)"}), {{5, 3}, {5, 3}})),
            "split gives sizes for mesh axis x, which does not cut");
  EXPECT_EQ(reason(with_sizes(ShardingOf({"S(0)", "S(0)"}), {{5, 3}, {5, 3}})),
            "split gives sizes, but two mesh axes cut dim 0");
  EXPECT_EQ(reason(with_sizes(ShardingOf({"R", "S(0)"}), {{}, {8}})),
            "split gives 1 sizes for mesh axis y of size 2");
  EXPECT_EQ(reason(with_sizes(ShardingOf({"R", "S(0)"}), {{}, {5, 2}})),
            "the sizes that split gives for mesh axis y add up to 7, but dim 0 has 8");
  EXPECT_THAT(reason(with_sizes(ShardingOf({"_S(0, 2)", "R"}), {{5, 3}, {}})),
              HasSubstr("takes no other split"));
  Sharding balanced = ShardingOf({"_S(0, 2)", "R"});
  balanced.split.kind = Split::Kind::kBalanced;
  EXPECT_THAT(reason(balanced), HasSubstr("takes no other split"));
}

// The oracle: lists of indices, cut as torch.chunk cuts a list.
using List = std::vector<std::int64_t>;

List Chunk(const List& list, std::int64_t count, std::int64_t index, bool balanced) {
  const auto n = static_cast<std::int64_t>(list.size());
  List sizes(static_cast<std::size_t>(count), 0);
  if (balanced) {
    for (std::int64_t i = 0; i < n; ++i) ++sizes[static_cast<std::size_t>(i % count)];
  } else {
    const std::int64_t chunk = (n + count - 1) / count;
    std::int64_t left = n;
    for (std::int64_t& size : sizes) {
      size = std::min(chunk, left);
      left -= size;
    }
  }
  const std::int64_t start = std::accumulate(sizes.begin(), sizes.begin() + index, std::int64_t{0});
  return {list.begin() + start, list.begin() + start + sizes[static_cast<std::size_t>(index)]};
}

// Cases C3, C4 and C14 at large: up to 5 dims and 4 mesh axes, any order, any placements.
TEST(PlacementTest, AnyShardingEqualsCuttingListsOfIndices) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    Tensor tensor{"t", DType::kF32, List(static_cast<std::size_t>(pick(1, 5)))};
    for (std::int64_t& size : tensor.shape) size = pick(0, 9) == 0 ? 0 : pick(1, 7);
    std::vector<MeshAxis> axes(static_cast<std::size_t>(pick(1, 4)));
    for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = {std::to_string(a), pick(1, 4)};
    const Mesh mesh = MeshOf(axes);
    Sharding sharding;
    const bool balanced = pick(0, 2) == 0;
    sharding.split.kind = balanced ? Split::Kind::kBalanced : Split::Kind::kChunk;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const int dim = static_cast<int>(pick(0, static_cast<std::int64_t>(tensor.shape.size()) - 1));
      const auto kind = static_cast<Placement::Kind>(pick(0, balanced ? 1 : 2));
      sharding.placements.push_back({kind, dim, pick(1, 5)});
      sharding.order.push_back(static_cast<int>(a));
    }
    std::shuffle(sharding.order.begin(), sharding.order.end(), random);
    ASSERT_TRUE(CheckSharding(sharding, mesh, tensor.shape).has_value());
    const std::int32_t rank =
        static_cast<std::int32_t>(pick(0, static_cast<std::int64_t>(mesh.ranks.size()) - 1));
    const List coordinate = mesh.Coordinate(rank);

    std::vector<List> indices;
    for (const std::int64_t size : tensor.shape) {
      indices.emplace_back(static_cast<std::size_t>(size));
      std::iota(indices.back().begin(), indices.back().end(), 0);
    }
    for (const int axis : sharding.order) {
      const Placement& placement = sharding.placements[static_cast<std::size_t>(axis)];
      const std::int64_t count = axes[static_cast<std::size_t>(axis)].size;
      const std::int64_t index = coordinate[static_cast<std::size_t>(axis)];
      List& list = indices[static_cast<std::size_t>(placement.dim)];
      if (placement.kind == Placement::Kind::kShard) list = Chunk(list, count, index, balanced);
      if (placement.kind == Placement::Kind::kStridedShard) {
        List joined;
        for (std::int64_t piece = 0; piece < placement.split; ++piece) {
          const List part = Chunk(Chunk(list, placement.split, piece, false), count, index, false);
          joined.insert(joined.end(), part.begin(), part.end());
        }
        list = joined;
      }
    }
    List shape;
    for (const List& list : indices) shape.push_back(static_cast<std::int64_t>(list.size()));
    std::vector<std::string> expected;
    ForEachIndex(shape, [&](const List& at) {
      std::int64_t flat = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        flat = flat * tensor.shape[d] + indices[d][static_cast<std::size_t>(at[d])];
      }
      expected.push_back(std::to_string(flat));
    });

    const Block local = LocalBlock(Block::OfTensor(0, tensor.shape), sharding, mesh, coordinate);
    ASSERT_EQ(local.shape(), shape) << "seed " << seed;
    Model model;
    model.tensors = {tensor};
    RankLayoutBuilder builder(model);
    ASSERT_TRUE(builder.AddParameter("t", DType::kF32, local).has_value());
    ASSERT_EQ(Contents(model.tensors, *std::move(builder).Build(), "t"), expected)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace reshard
