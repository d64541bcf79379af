#include "compiler/layout/shard_index.h"

#include <filesystem>
#include <utility>

namespace reshard {

tl::unexpected<Error> ShardedTensor::Missing() const {
  return entry.Fail("shard " + shard + " does not hold this tensor");
}

Result<std::vector<ShardedTensor>> ReadShardIndex(const JsonCursor& index) {
  const Result<JsonCursor> map = index.Field("weight_map");
  if (!map) return tl::unexpected(map.error());
  const auto entries = map->Members();
  if (!entries) return tl::unexpected(entries.error());
  std::vector<ShardedTensor> tensors;
  tensors.reserve(entries->size());
  for (const auto& [name, entry] : *entries) {
    Result<std::string> shard = entry.AsString();
    if (!shard) return tl::unexpected(shard.error());
    if (std::filesystem::path(*shard).has_parent_path()) {
      return entry.Fail("'" + *shard + "' is no plain file name",
                        "keep the shards beside the index");
    }
    tensors.push_back({name, *std::move(shard), entry});
  }
  return tensors;
}

}  // namespace reshard
