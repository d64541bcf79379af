// The degrees of a trainer built on torch's device meshes, and where a rank
// stands.
//
// Two meshes lie over the same ranks, the last axis fastest: dense parameters
// over (pipeline, replicate, shard, context, tensor), experts over (pipeline,
// replicate, expert shard, expert), where expert shard = shard * context *
// tensor / expert (torchtitan/distributed/parallel_dims.py). FSDP flattens
// shard and context into one axis.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// The degrees that "fsdp" and "torchtitan" share.
inline constexpr auto kFsdpDegreeFields = std::to_array<std::string_view>(
    {"pipeline", "replicate", "shard", "context", "tensor", "expert"});

struct FsdpDegrees {
  std::int64_t pipeline = 1;
  std::int64_t replicate = 1;
  std::int64_t shard = 1;  // what the others leave, if not given
  std::int64_t context = 1;
  std::int64_t tensor = 1;
  std::int64_t expert = 1;

  // Ranks over which FSDP cuts dense parameters, and experts where expert > 1.
  std::int64_t dense_shards() const { return shard * context; }
  std::int64_t expert_shards() const { return shard * context * tensor / expert; }
};

// What decides over the contents of a rank; its replicas have equal
// coordinates.
struct FsdpCoordinates {
  std::int64_t pipeline = 0;
  std::int64_t shard = 0;  // of dense_shards()
  std::int64_t tensor = 0;
  std::int64_t expert_shard = 0;  // of expert_shards()
  std::int64_t expert = 0;
  auto operator<=>(const FsdpCoordinates&) const = default;
};

// Reads the degrees; other fields are the caller's to know. Errors: degrees
// below 1, a product that is not `rank_count`, expert that does not divide
// shard * context * tensor.
Result<FsdpDegrees> ReadFsdpDegrees(const JsonCursor& fields, std::int64_t rank_count);

FsdpCoordinates PlaceFsdpRank(const FsdpDegrees& degrees, std::int64_t rank);

}  // namespace reshard
