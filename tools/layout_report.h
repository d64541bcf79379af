// The description of a side as a table and as JSON, parameters alike but for numbers joined.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/layout/layout_description.h"
#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

// Parameters whose names differ in numbers alone and that lie alike.
struct ParameterRow {
  std::string name;          // "model.layers.{0-60}.mlp.gate.weight"
  std::int64_t count = 1;    // parameters it stands for
  ParameterDescription one;  // any of them
  std::int64_t bytes = 0;    // of all of them, on all ranks
  std::int64_t padding_bytes = 0;
};

// In the order of the first name of each. An Error: bytes that do not fit 64 bits.
Result<std::vector<ParameterRow>> JoinAlike(std::span<const ParameterDescription> parameters);

// "dense: dp R, tp S(0)"; axes of size 1 are left out. "no mesh explains it".
std::string PlacementText(const ParameterDescription& parameter, std::span<const NamedMesh> meshes);
// "[512, 7168]", or "[3, 7168] on 3, [1, 7168] on 1".
std::string ShapesText(const ParameterDescription& parameter);
// "dense: pp 4 x dp 32 x cp 1 x tp 1".
std::string MeshText(const NamedMesh& mesh);

// The rows as the field "parameters" of --json.
JsonValue ParametersJson(std::span<const ParameterRow> rows, std::span<const NamedMesh> meshes);
// The meshes as the field "meshes" of --json.
JsonValue MeshesJson(std::span<const NamedMesh> meshes);

}  // namespace reshard
