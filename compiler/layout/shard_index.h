// model.safetensors.index.json: {"weight_map": {tensor: file of its shard}}, the shards beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

struct ShardedTensor {
  std::string_view name;
  std::string shard;  // a plain file name
  JsonCursor entry;   // for errors about the shard

  // What to say where the shard lacks the tensor.
  tl::unexpected<Error> Missing() const;
};

// In the order of the file. Refuses shards that are not beside the index. Refers to `index`.
Result<std::vector<ShardedTensor>> ReadShardIndex(const JsonCursor& index);

}  // namespace reshard
