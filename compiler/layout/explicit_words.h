// The words of an explicit layout, as read: meshes, tensor rules, parameters, regions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/layout/explicit_value.h"
#include "compiler/layout/name_pattern.h"
#include "compiler/layout/placement.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "schedules/dtype.h"

namespace reshard {

// One entry of "tensors".
struct ExplicitRule {
  std::string place;
  NamePattern match;
  std::optional<std::size_t> mesh;  // into ExplicitWords::meshes; none: {"held": false}
  Sharding sharding;
};

// The parameter is zeros on all ranks but those with one of these coordinates along an axis.
struct ZeroExcept {
  int axis = 0;
  std::vector<std::int64_t> coordinates;
};

// One entry of "parameters".
struct ExplicitParameter {
  std::string place;
  NamePattern name;
  ExplicitValue value;                  // what is cut, with `mesh`; else of what each rank has
  std::optional<std::size_t> mesh;      // none: each part is cut by its own rule
  Sharding sharding;                    // with `mesh`
  std::vector<ValueStep> local;         // on what the cut leaves a rank, with `mesh`
  std::vector<ZeroExcept> zero_except;  // with `mesh`
  std::optional<DType> dtype;           // where no part is a tensor
};

// One entry of "regions".
struct ExplicitRegion {
  std::string place;
  std::int32_t rank = 0;       // position in the group
  std::string tensor;          // empty: zeros
  std::optional<DType> dtype;  // of the parameter, where zeros say it
  std::vector<DimRange> box;   // of zeros, from 0 on
  std::string parameter;
  std::vector<std::int64_t> shape;  // of the parameter
  std::vector<std::int64_t> at;     // where in the parameter the box begins
  std::vector<std::int64_t>
      strides;  // in elements of the parameter, per dim of the tensor; or none
};

struct ExplicitWords {
  std::vector<Mesh> meshes;
  std::vector<ExplicitRule> rules;
  std::vector<ExplicitParameter> parameters;
  std::vector<ExplicitRegion> regions;
};

// Reads the object behind "explicit" for a group of `rank_count` GPUs. What depends on the tensors
// (dims, bounds, sizes) is checked by the layout that is built of it.
Result<ExplicitWords> ReadExplicitWords(const JsonCursor& layout, std::int64_t rank_count);

}  // namespace reshard
