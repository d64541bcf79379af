// DTensor's words: meshes, placements, and what of a tensor they leave on a rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/block.h"
#include "foundation/error.h"

namespace reshard {

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
};

// Axes over ranks, row-major: the last axis varies fastest.
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<std::int32_t> ranks;  // positions in the group; as many as the product of the sizes

  // Where each position of a group of `rank_count` stands in `ranks`; -1 if it does not.
  std::vector<std::int32_t> Positions(std::int64_t rank_count) const;
  // The index along each axis of the rank at `position` of `ranks`.
  std::vector<std::int64_t> Coordinate(std::int32_t position) const;
};

struct Placement {
  enum class Kind {
    kReplicate,     // R
    kShard,         // S(dim)
    kStridedShard,  // _S(dim, split): torch's _StridedShard as of 2.15
  };
  Kind kind = Kind::kReplicate;
  int dim = 0;             // of kShard and kStridedShard
  std::int64_t split = 1;  // of kStridedShard

  bool Cuts() const { return kind != Kind::kReplicate; }
};

// "R", "S(1)", "_S(0, 2)". Errors (without a place): anything else; "P" by name, because the ranks
// of a partial placement hold no bytes of the tensor, only summands.
Result<Placement> ParsePlacement(std::string_view text);

// How a dim that does not divide is cut.
struct Split {
  enum class Kind {
    kChunk,     // torch.chunk: ceil(size / n) each while they last: 10 over 4 is 3, 3, 3, 1
    kBalanced,  // sizes differ by at most one, larger ones first: 3, 3, 2, 2
    kSizes,     // as given
  };
  Kind kind = Kind::kChunk;
  std::vector<std::vector<std::int64_t>> sizes;  // of kSizes: one list per mesh axis
};

// One placement per mesh axis, and how to apply them.
struct Sharding {
  std::vector<Placement> placements;
  Split split;
  std::vector<int> order;  // mesh axes in order of application, each on what the one before left
};

// Errors (without a place) unless `sharding` fits `mesh` and a block of `shape`: as many placements
// as axes, dims in range, sizes that add up and stand alone on their dim, no sizes or "balanced"
// beside a strided shard.
Result<void> CheckSharding(const Sharding& sharding, const Mesh& mesh,
                           std::span<const std::int64_t> shape);

// Piece `index` of `count` of a dim of `size`, as [start, stop); kSizes is not meant here.
struct DimRange {
  std::int64_t start = 0;
  std::int64_t stop = 0;
};
DimRange CutDim(Split::Kind kind, std::int64_t size, std::int64_t count, std::int64_t index);

// What of `whole` the rank at `coordinate` holds. `sharding` has passed CheckSharding. An empty
// shard keeps its other dims.
Block LocalBlock(const Block& whole, const Sharding& sharding, const Mesh& mesh,
                 std::span<const std::int64_t> coordinate);

}  // namespace reshard
