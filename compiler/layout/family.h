// A family of models as data: which tensor names there are, what each is, what shape it has.
//
// Families are JSON files (compiler/layout/families/ holds the built-in ones), so that a new one
// needs no compiler. The format:
//
//   { "name": "qwen3",
//     "modelTypes": ["qwen3"],               config.json's model_type values
//     "requires": ["attention.q_norm", ["mlp.gate", "mlp.up"]],
//                                            a tensor list is recognised as this family only if it
//                                            holds each role, or one of each list of roles
//     "layers": EXPR, "mtpLayers": EXPR,     main layers and multi-token-prediction layers after
//     them "experts": EXPR,                       routed experts of a layer "fields": { "head_dim":
//     { "infer": EXPR, "default": EXPR }, .. },
//                                            every config field the file uses. A field is, in this
//                                            order: what the config says, what `infer` reads off a
//                                            tensor list, the default; without any it is an error
//     "tensors": [ { "name": "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight",
//                    "role": "expert.up", "kind": "weight", "shape": [EXPR, ..], "when": EXPR,
//                    "dtype": "F32", "quantized": true }, .. ],
//     "recomputed": { "vllm": [ { "name": "model.layers.{layer}.self_attn.W_UV",
//                                 "from": "mla.kv_b" } ] } }
//
// EXPR is an expression (family_expression.h); in `shape` and `when` it may mention `layer`.
// {layer} and {expert} stand for whole pieces between dots. `when` decides which tensors a config
// implies (a listed tensor is known by its name alone). `dtype` is fixed where the model's own does
// not apply. `quantized` weights have, in a checkpoint of block-scaled FP8, a tensor of scales
// beside them, its name the weight's with "_scale_inv" behind. `recomputed` names buffers that a
// framework derives from a role after loading: they are no parameters, and must be derived again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/family_expression.h"
#include "compiler/layout/family_roles.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "schedules/dtype.h"

namespace reshard {

inline constexpr std::string_view kScaleSuffix = "_scale_inv";

struct TensorPattern {
  std::string name;
  Role role = Role::kEmbedding;
  Kind kind = Kind::kWeight;
  std::vector<Expression> shape;
  std::optional<Expression> when;
  std::optional<DType> dtype;
  bool quantized = false;
};

struct FieldRule {
  std::string name;
  std::optional<Expression> infer{};
  std::optional<Expression> otherwise{};  // "default"
};

struct RecomputedBuffer {
  std::string framework;
  std::string name;
  Role from = Role::kEmbedding;
};

struct Family {
  std::string name;
  std::vector<std::string> model_types;
  std::vector<std::vector<Role>> required;  // one of each
  std::optional<Expression> layers;
  std::optional<Expression> mtp_layers;
  std::optional<Expression> experts;
  std::vector<FieldRule> fields;
  std::vector<TensorPattern> tensors;
  std::vector<RecomputedBuffer> recomputed;

  const FieldRule* FindField(std::string_view name) const;
};

// Reads a family file. Unknown fields and roles, expressions that mention a field which `fields`
// lacks, and two patterns of one name are errors.
Result<Family> ReadFamily(const JsonCursor& cursor);

// What a tensor's name says by a pattern.
struct NameMatch {
  std::int32_t pattern = 0;  // index into Family::tensors
  bool scale = false;        // the name is the pattern's with kScaleSuffix behind
  std::int64_t layer = -1;   // -1: the pattern has no such index
  std::int64_t expert = -1;
};

// Finds the pattern of a name without trying them all. Refers to nothing of the family afterwards.
class NameMatcher {
 public:
  explicit NameMatcher(const Family& family);
  std::optional<NameMatch> Match(std::string_view name) const;

 private:
  enum class Index : std::uint8_t { kLayer, kExpert, kLiteral };
  struct Entry {
    std::int32_t pattern = 0;
    bool scale = false;
    std::vector<Index> indices{};  // what each number in the name is
    std::vector<std::int64_t> literals{};
  };
  // Names with every number replaced by "{}", sorted; several entries may share one.
  std::vector<std::pair<std::string, Entry>> entries_;
};

}  // namespace reshard
