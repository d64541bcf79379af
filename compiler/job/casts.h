// The "casts" of a side's group, and the forms in which its tensors are held because of them.
//
//   "casts": [ {"match": "*.experts.*.weight", "to": "F8_E4M3", "block": [128, 128]},
//              {"match": "*", "to": "BF16"} ]
//
// match   name pattern of tensors; the first cast that matches counts
// to      F8_E4M3 with a block, or F32, BF16, F16
// block   of F8_E4M3: rows and columns that share a scale. Such a cast is for tensors of at least
//         two dims (leading ones are not cut into blocks); it passes over others, and over the
//         scales of tensors that the model lists in F8_E4M3. A tensor t gets the scales t_scale_inv
//         in F32, value = element * scale
// scale   "floor" or "rceil", of block [1, 32]: MXFP8. The scales are t_scale, E8M0 bytes in U8
// at      "source", the default: who holds the tensor converts it, and the wire has the bytes after
// from    of a source group: the dtype it holds the tensors in, where that is not the model's
//
// The casts of a destination group say what it holds. Those of a source group say how its tensors
// leave it: they hold for all destination groups, after their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/layout/model.h"
#include "compiler/layout/name_pattern.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "foundation/json_value.h"

namespace reshard {

// What stands for a number x of the model's tensor.
enum class ElementFunction : std::uint8_t {
  kIdentity,             // x
  kNegativeExponential,  // -exp(x)
  kMinusOne,             // x - 1
};

enum class ScaleKind : std::uint8_t {
  kNone,
  kAmax,   // F32
  kFloor,  // E8M0
  kRceil,  // E8M0
};

// How a tensor's numbers are stored.
struct TensorForm {
  ElementFunction function = ElementFunction::kIdentity;
  DType dtype = DType::kBF16;
  std::vector<std::int64_t> block;  // per dim; of block scales
  ScaleKind scale = ScaleKind::kNone;
  bool operator==(const TensorForm&) const = default;
  auto operator<=>(const TensorForm&) const = default;
};

// The scales of `tensor`, stored in `form`, which has some.
Tensor ScaleTensor(const Tensor& tensor, const TensorForm& form);

struct Cast {
  NamePattern match;
  DType to = DType::kBF16;
  std::optional<DType> from;
  std::vector<std::int64_t> block;  // rows, columns
  ScaleKind scale = ScaleKind::kNone;
};

// A tensor that a family stores otherwise than checkpoints do (Mamba's A, zero-centred norms).
struct StoredForm {
  NamePattern match;
  ElementFunction function = ElementFunction::kIdentity;
  std::optional<DType> dtype;
};

// Reads the list. Errors name the place: an unknown dtype, scale or place, a block that does not go
// with the dtype.
Result<std::vector<Cast>> ReadCasts(const JsonCursor& list, bool is_source);
// ReadCasts makes equal ones from it.
JsonValue CastsToJson(std::span<const Cast> casts);
// Whether tensors leave two source groups alike.
bool LeaveAlike(std::span<const Cast> a, std::span<const Cast> b);

// A tensor of a group's model, as a tensor of the job's.
struct FormedTensor {
  TensorIndex origin = 0;  // in the job's model
  TensorForm form;         // of the values
  bool is_scale = false;   // it is the scales of them
};

// The model a group's layout is built of: the job's, tensors in the forms the group holds them in.
struct FormedModel {
  Model model;
  std::vector<FormedTensor> tensors;  // of each tensor of `model`
};

// That of a source group: "from" and what the family stores.
Result<FormedModel> SourceModel(const Model& model, std::span<const Cast> casts,
                                std::span<const StoredForm> stored);
// That of a destination group: its casts and the source's. Errors: a tensor whose dtype cannot be
// cast, a scale tensor whose name the model has already.
Result<FormedModel> DestinationModel(const Model& model, std::span<const Cast> casts,
                                     std::span<const StoredForm> stored);

}  // namespace reshard
