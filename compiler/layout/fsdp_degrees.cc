#include "compiler/layout/fsdp_degrees.h"

#include <optional>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {

Result<FsdpDegrees> ReadFsdpDegrees(const JsonCursor& fields, std::int64_t rank_count) {
  FsdpDegrees degrees;
  for (const auto& [name, degree] :
       {std::pair{"pipeline", &degrees.pipeline}, std::pair{"replicate", &degrees.replicate},
        std::pair{"context", &degrees.context}, std::pair{"tensor", &degrees.tensor},
        std::pair{"expert", &degrees.expert}}) {
    const Result<std::int64_t> value = fields.IntegerOr(name, 1, kPositiveInteger);
    if (!value) return tl::unexpected(value.error());
    *degree = *value;
  }
  const std::optional<std::int64_t> others = CheckedProduct(
      std::array{degrees.pipeline, degrees.replicate, degrees.context, degrees.tensor});
  const std::string product =
      "pipeline x replicate x context x tensor = " + std::to_string(degrees.pipeline) + " x " +
      std::to_string(degrees.replicate) + " x " + std::to_string(degrees.context) + " x " +
      std::to_string(degrees.tensor);
  if (!others || rank_count % *others != 0) {
    return fields.Fail(product + " does not divide the " + std::to_string(rank_count) +
                       " GPUs of the group");
  }
  const Result<std::int64_t> shard =
      fields.IntegerOr("shard", rank_count / *others, kPositiveInteger);
  if (!shard) return tl::unexpected(shard.error());
  if (*shard != rank_count / *others) {
    return fields.Field("shard")->Fail(
        std::to_string(*shard) + " does not match the " + std::to_string(rank_count / *others) +
            " that " + std::to_string(rank_count) + " GPUs and the other degrees leave",
        "leave it out or correct it");
  }
  degrees.shard = *shard;
  const std::int64_t stage = degrees.shard * degrees.context * degrees.tensor;
  if (stage % degrees.expert != 0) {
    return fields.Field("expert")->Fail(
        std::to_string(degrees.expert) +
        " does not divide shard x context x tensor = " + std::to_string(stage));
  }
  return degrees;
}

FsdpCoordinates PlaceFsdpRank(const FsdpDegrees& degrees, std::int64_t rank) {
  // Row-major: what lies under one replica of one stage is counted by both
  // meshes.
  const std::int64_t replica_ranks = degrees.dense_shards() * degrees.tensor;
  const std::int64_t inner = rank % replica_ranks;
  FsdpCoordinates at;
  at.pipeline = rank / replica_ranks / degrees.replicate;
  at.shard = inner / degrees.tensor;
  at.tensor = inner % degrees.tensor;
  at.expert_shard = inner / degrees.expert;
  at.expert = inner % degrees.expert;
  return at;
}

}  // namespace reshard
