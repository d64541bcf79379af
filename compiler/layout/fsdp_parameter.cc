#include "compiler/layout/fsdp_parameter.h"

#include <string>
#include <utility>

#include "compiler/layout/placement.h"
#include "compiler/layout/shared_rank_layouts.h"

namespace reshard {
namespace {

Block Chunk(const Block& block, int dim, std::int64_t count, std::int64_t index) {
  const DimRange range =
      CutDim(Split::Kind::kChunk, block.shape()[static_cast<std::size_t>(dim)], count, index);
  return block.Slice(dim, range.start, range.stop);
}

// Chunks of each of `parts` equal parts, joined; they divide the dim (precondition).
Block ChunkParts(const Block& block, int dim, std::int64_t parts, std::int64_t count,
                 std::int64_t index) {
  const std::int64_t part = block.shape()[static_cast<std::size_t>(dim)] / parts;
  std::vector<Block> chunks;
  for (std::int64_t p = 0; p < parts; ++p) {
    chunks.push_back(Chunk(block.Slice(dim, p * part, (p + 1) * part), dim, count, index));
  }
  return Block::Concat(dim, chunks);
}

}  // namespace

Result<std::optional<Block>> HeldBlock(const FsdpParameter& parameter, const FsdpDegrees& degrees,
                                       const FsdpCoordinates& at, std::int64_t expert_count) {
  const WholeParameter& whole = parameter.whole;
  Block block = whole.block;
  std::int64_t shards = degrees.dense_shards();
  std::int64_t shard = at.shard;
  if (parameter.expert && degrees.expert > 1) {
    if (expert_count % degrees.expert != 0) {
      return InputError("",
                        whole.name + ": " + std::to_string(expert_count) +
                            " experts do not divide by " + std::to_string(degrees.expert) +
                            " expert ranks",
                        "choose a degree that divides them");
    }
    const std::int64_t each = expert_count / degrees.expert;
    if (whole.expert == WholeParameter::kNone) {
      block = block.Slice(0, at.expert * each, (at.expert + 1) * each);
    } else if (whole.expert / each != at.expert) {
      return std::nullopt;
    }
    shards = degrees.expert_shards();
    shard = at.expert_shard;
  } else if (parameter.tensor_dim != FsdpParameter::kWhole) {
    const std::int64_t rows = block.shape()[static_cast<std::size_t>(parameter.tensor_dim)];
    if (rows % parameter.tensor_parts != 0) {
      return InputError("", whole.name + ": gate and up rows differ in number: they are " +
                                std::to_string(rows) + " together");
    }
    block =
        ChunkParts(block, parameter.tensor_dim, parameter.tensor_parts, degrees.tensor, at.tensor);
  }
  if (parameter.buffer) return block;
  if (block.shape().empty()) {
    return InputError("", whole.name + " is a scalar, which FSDP refuses",
                      "make it one element of one dim, or leave it out of the model");
  }
  const std::int64_t size = block.shape()[static_cast<std::size_t>(parameter.shard_dim)];
  if (parameter.shard_dim != 0 && size % shards != 0) {
    return InputError("",
                      whole.name + ": FSDP cuts its dim " + std::to_string(parameter.shard_dim) +
                          " of " + std::to_string(size) + " over " + std::to_string(shards) +
                          " ranks, and only dim 0 may be uneven",
                      "choose a degree that divides it");
  }
  return Chunk(block, parameter.shard_dim, shards, shard);
}

Result<GroupLayout> CutByFsdp(const Model& model, std::span<const FsdpParameter> parameters,
                              const FsdpDegrees& degrees, std::int64_t expert_count,
                              std::int64_t rank_count) {
  return ShareRankLayouts(
      rank_count, [&](std::int64_t rank) { return PlaceFsdpRank(degrees, rank); },
      [&](const FsdpCoordinates& at) -> Result<RankLayout> {
        RankLayoutBuilder builder(model);
        for (const FsdpParameter& parameter : parameters) {
          if (parameter.stage != at.pipeline) continue;
          const auto block = HeldBlock(parameter, degrees, at, expert_count);
          if (!block) return tl::unexpected(block.error());
          if (!*block) continue;
          const Result<void> added =
              builder.AddParameter(parameter.whole.name, parameter.whole.dtype, **block);
          if (!added) return tl::unexpected(added.error());
        }
        return std::move(builder).Build();
      });
}

}  // namespace reshard
