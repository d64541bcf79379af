#include "compiler/baselines/piece_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace reshard {
namespace {

PlacedTensors Placed(std::vector<Shard> sources) {
  PlacedTensors placed;
  placed.tensors = {0, 1, 2};
  placed.element_bytes = 2;
  placed.sources = std::move(sources);
  return placed;
}

TEST(PieceFlowsTest, TheFirstHolderGivesWhatSeveralHave) {
  const PlacedTensors placed = Placed({{{{{0}, {6}}}, {0}}, {{{{4}, {4}}}, {1, 2}}});
  const Shard destination{{{{2}, {6}}}, {5}};
  const auto pieces = PiecesOf(placed, destination);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_THAT(pieces[0].boxes, ::testing::ElementsAre(TensorBox{{2}, {4}}));
  EXPECT_THAT(pieces[1].boxes, ::testing::ElementsAre(TensorBox{{6}, {2}}));
  // Rank 2 asks itself first.
  const auto own = PiecesOf(placed, destination, 2);
  EXPECT_THAT(own[0].boxes, ::testing::ElementsAre(TensorBox{{2}, {2}}));
  EXPECT_THAT(own[1].boxes, ::testing::ElementsAre(TensorBox{{4}, {4}}));
}

TEST(PieceFlowsTest, FlowsCarryAllTensorsOneSendEach) {
  const PlacedTensors placed = Placed({{{{{0}, {6}}}, {0}}});
  const ShardPiece piece{0, {{{2}, {4}}}, true, false};
  PhaseBuilder builder;
  AddPiece(piece, placed, 0, 5, builder);
  AddPiece(piece, placed, 0, 5, builder);
  AddPiece(piece, placed, 0, 0, builder);
  TrafficPhase phase;
  builder.MoveInto(phase);
  EXPECT_THAT(phase.flows, ::testing::ElementsAre(TrafficFlow{0, 5, 2 * 24, 6, 0}));
  EXPECT_THAT(phase.copies, ::testing::ElementsAre(TrafficCopy{0, 48, 24}));
}

// Whatever overlaps: each element of the destination that any source has is in exactly one piece,
// and that source has it.
TEST(PieceFlowsTest, PiecesCoverEachElementOnce) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto box = [&] {
    TensorBox made{{0, 0}, {0, 0}};
    for (std::size_t dim = 0; dim < 2; ++dim) {
      made.begin[dim] = static_cast<std::int64_t>(random() % 6);
      made.extent[dim] = 1 + static_cast<std::int64_t>(random() % 4);
    }
    return made;
  };
  const auto has = [](const std::vector<TensorBox>& boxes, std::int64_t row, std::int64_t column) {
    return std::ranges::count_if(boxes, [&](const TensorBox& b) {
      return Intersection(b, {{row, column}, {1, 1}}).has_value();
    });
  };
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Shard> sources;
    for (std::uint32_t i = 0; i < 1 + random() % 4; ++i) {
      sources.push_back({{box()}, {static_cast<RankIndex>(i)}});
    }
    const PlacedTensors placed = Placed(sources);
    const Shard destination{{box()}, {9}};
    const auto pieces = PiecesOf(placed, destination, static_cast<RankIndex>(random() % 5));
    for (std::int64_t row = 0; row < 10; ++row) {
      for (std::int64_t column = 0; column < 10; ++column) {
        const bool needed = has(destination.boxes, row, column) > 0;
        const bool held = std::ranges::any_of(
            sources, [&](const Shard& shard) { return has(shard.boxes, row, column) > 0; });
        std::int64_t times = 0;
        for (const ShardPiece& piece : pieces) {
          const auto here = has(piece.boxes, row, column);
          times += here;
          if (here > 0) {
            ASSERT_GT(has(placed.sources[piece.source].boxes, row, column), 0);
          }
        }
        ASSERT_EQ(times, needed && held ? 1 : 0);
      }
    }
  }
}

}  // namespace
}  // namespace reshard
