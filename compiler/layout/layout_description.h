// A group's layout in DTensor's words, read off what its ranks hold.
//
// Nothing here knows how a layout was built: placements are found by comparing the regions of ranks
// that differ along one mesh axis alone. So they say what is so, for adapters and explicit layouts
// alike, and where no mesh explains a parameter they say that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/layout_builder.h"
#include "compiler/layout/layout_meshes.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "schedules/dtype.h"

namespace reshard {

// Along one mesh axis:
//   "R"        the ranks hold the same
//   "S(0)"     they hold different ranges of dim 0 of the same tensors
//   "S(0)x2"   the same, each range by two neighbours
//   "tensors"  they hold different tensors
//   "one"      only one of them has the parameter
//   "some"     only some have it
// Several joined by "|", if the tensors of a parameter differ.
struct ParameterDescription {
  std::string name;
  DType dtype = DType::kBF16;
  std::optional<std::size_t> mesh;      // into the meshes; none: no mesh explains it
  std::vector<std::string> placements;  // one for each axis of the mesh
  std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> shapes;  // local, and of how many
  std::int64_t tensors = 0;        // that it holds elements of, over all ranks
  std::int64_t ranks = 0;          // that have it
  std::int64_t bytes_max = 0;      // of one rank
  std::int64_t bytes = 0;          // of all ranks
  std::int64_t padding_bytes = 0;  // of these, elements of no tensor
};

// In order of the names. `meshes` are of the same group; of several that explain a parameter the
// one counts that needs the fewest words beyond R and S: the first of these, or the last where none
// does without. An Error, with the parameter's name: bytes that do not fit 64 bits.
Result<std::vector<ParameterDescription>> DescribeParameters(const GroupLayout& group,
                                                             std::span<const NamedMesh> meshes);

// The tensors of the model that no rank of the group holds an element of, by name. Tensors without
// elements do not count.
std::vector<std::string> TensorsNotHeld(const Model& model, const GroupLayout& group);

}  // namespace reshard
