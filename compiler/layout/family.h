// A family of models as data: which tensor names there are, what each is, what shape it has.
//
// Families are JSON files (compiler/layout/families/ holds the built-in ones), so that a new one
// needs no compiler. The format:
//
//   { "name": "qwen3",
//     "modelTypes": ["qwen3"],               config.json's model_type values
//     "multimodal": { "modelTypes": ["qwen3_vl"],
//                     "prefix": [["model.", "model.language_model."]],
//                     "names": { "vllm": [["model.", "language_model.model."]] } },
//     "requires": ["attention.q_norm", ["mlp.gate", "mlp.up"], "attention.q/bias"],
//     "layers": EXPR, "mtpLayers": EXPR, "experts": EXPR,
//     "fields": { "head_dim": { "infer": EXPR, "default": EXPR }, .. },
//     "names": { "vllm": [["backbone.", "model."]] },
//     "tensors": [ { "name": "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight",
//                    "role": "expert.up", "kind": "weight", "shape": [EXPR, ..], "when": EXPR,
//                    "dtype": "F32", "quantized": true, "mtp": true }, .. ],
//     "recomputed": { "vllm": [ { "name": "model.layers.{layer}.self_attn.W_UV",
//                                 "from": "mla.kv_b" } ] },
//     "repacked": { "vllm": [ { "backend": "marlin", "roles": ["expert.up"], "into": "tiles" } ] },
//     "stored": { "vllm": [ { "role": "mamba.a_log", "as": "-exp", "dtype": "F32" } ] } }
//
// EXPR is an expression (family_expression.h); in `shape` and `when` it may mention `layer`.
//
// multimodal   the model inside a larger one: config.json has such a model_type and the model's own
//              fields in text_config, tensors have the names that the replacements of `prefix` make
// requires     a tensor list is recognised as this family only if it holds a weight of each role (a
//              bias of it with "/bias" behind), or of one of each list of roles
// layers ..    main layers, multi-token-prediction layers, routed experts of a layer
// fields       every config field the file uses. A field is, in this order: what the config says,
//              what `infer` reads off a tensor list, the default; without any it is an error
// names        what a framework that keeps the tensors' names calls them: each pair replaces the
//              first occurrence of a text in a name, one pair after the other. Those of
//              `multimodal` hold for the model inside a larger one, and start from the plain names
//              as well
// tensors      {layer} and {expert} stand for whole pieces between dots. `when` decides which
//              tensors a config implies (a listed tensor is known by its name alone). `dtype` is
//              fixed where the model's own does not apply. `quantized` weights have, in a
//              checkpoint of block-scaled FP8, a tensor of scales beside them, its name the
//              weight's with "_scale_inv" behind. `mtp` tensors are of prediction layers that are
//              numbered apart: their {layer} counts these from 0, and without {layer} they are of
//              the first
// recomputed   buffers that a framework derives from a role after loading: they are no parameters,
//              and must be derived again
// repacked     what a backend of a framework makes of the parameters of roles after loading.
//              "upGate" is planned: up rows before gate rows. All else is refused by the tensor's
//              name
// stored       tensors that a framework keeps as a function of the checkpoint's elements, "-exp"
//              (-exp(x)) or "minusOne" (x - 1), or in another dtype
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  bool mtp = false;
};

// A tensor of a role that a list must hold.
struct RequiredTensor {
  Role role = Role::kEmbedding;
  Kind kind = Kind::kWeight;
  bool operator==(const RequiredTensor&) const = default;
};

// Replacements of the first occurrence of a text in a name, one after the other.
using NameReplacements = std::vector<std::pair<std::string, std::string>>;
std::string Replaced(std::string name, const NameReplacements& replacements);

// By framework.
using FrameworkNames = std::map<std::string, NameReplacements, std::less<>>;

// The model inside a larger one; without model types there is no such form.
struct MultimodalForm {
  std::vector<std::string> model_types{};
  NameReplacements prefix{};
  FrameworkNames names{};
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

// What a backend makes of parameters after loading.
struct RepackedTensors {
  std::string framework{};
  std::string backend{};
  std::vector<Role> roles{};
  std::string into{};
};
inline constexpr std::string_view kIntoUpGate = "upGate";

// What stands for an element x of the checkpoint's tensor.
enum class StoredFunction : std::uint8_t { kIdentity, kNegativeExponential, kMinusOne };

struct StoredTensors {
  std::string framework{};
  Role role = Role::kEmbedding;
  StoredFunction function = StoredFunction::kIdentity;
  std::optional<DType> dtype{};  // where it is not the checkpoint's
};

struct Family {
  std::string name;
  std::vector<std::string> model_types;
  MultimodalForm multimodal;
  std::vector<std::vector<RequiredTensor>> required;  // one of each
  std::optional<Expression> layers;
  std::optional<Expression> mtp_layers;
  std::optional<Expression> experts;
  std::vector<FieldRule> fields;
  FrameworkNames names;
  std::vector<TensorPattern> tensors;
  std::vector<RecomputedBuffer> recomputed;
  std::vector<RepackedTensors> repacked;
  std::vector<StoredTensors> stored;

  const FieldRule* FindField(std::string_view name) const;
  bool HasRole(Role role) const;
  // Whether prediction layers are numbered apart from the main ones.
  bool NumbersMtpApart() const;
};

// Reads a family file. Unknown fields and roles, expressions that mention a field which `fields`
// lacks, and two patterns of one name are errors.
Result<Family> ReadFamily(const JsonCursor& cursor);

// What a tensor's name says by a pattern.
struct NameMatch {
  std::int32_t pattern = 0;  // index into Family::tensors
  bool scale = false;        // the name is the pattern's with kScaleSuffix behind
  bool multimodal = false;   // the name is as in the multimodal form, and not as in the plain one
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
    bool multimodal = false;
    std::vector<Index> indices{};  // what each number in the name is
    std::vector<std::int64_t> literals{};
  };
  void AddName(const TensorPattern& pattern, std::string_view name, Entry entry);

  // Names with every number replaced by "{}", sorted; several entries may share one.
  std::vector<std::pair<std::string, Entry>> entries_;
};

}  // namespace reshard
