// The meshes that the ranks of a group form by its layout's own degrees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/placement.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

struct NamedMesh {
  std::string name;
  Mesh mesh;
};

// "explicit": those of the file. Frameworks: one for each way its parameters lie - "dense" and
// "expert" for megatron, vllm, fsdp and torchtitan, "attention", "stage" and "expert" for sglang,
// "one" for hf - the slowest axis first. Fails as the kind's own reader does.
Result<std::vector<NamedMesh>> MeshesOf(std::string_view kind, const JsonCursor& fields,
                                        std::int64_t rank_count);

}  // namespace reshard
