#include "compiler/layout/huggingface_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/family.h"
#include "compiler/layout/family_catalog.h"
#include "compiler/layout/family_fields.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// More tensors than any model has; a config's numbers must not decide over memory.
constexpr std::int64_t kMaxTensors = std::int64_t{1} << 22;

// How the checkpoint's quantized weights are stored.
struct Quantization {
  bool block_fp8 = false;
  std::int64_t block_rows = 0;
  std::int64_t block_columns = 0;
  std::vector<std::string> excluded;  // modules left in the model's dtype
};

Result<Quantization> ReadQuantization(const JsonCursor& config) {
  Quantization quantization;
  const std::optional<JsonCursor> section = config.FindUnlessNull("quantization_config");
  if (!section) return quantization;
  const Result<std::string> method = section->String("quant_method");
  if (!method) return tl::unexpected(method.error());
  const std::optional<JsonCursor> sizes = section->FindUnlessNull("weight_block_size");
  if (*method != "fp8" || !sizes) {
    return section->Fail("quantization '" + *method + "'" +
                             (sizes ? "" : " without weight_block_size") + " is not known",
                         "give the tensor list instead of config.json");
  }
  const Result<std::vector<std::int64_t>> block = sizes->AsIntegers(kPositiveInteger);
  if (!block) return tl::unexpected(block.error());
  constexpr std::size_t kDims = 2;
  if (block->size() != kDims) return sizes->Fail("expected two integers");
  quantization.block_fp8 = true;
  quantization.block_rows = (*block)[0];
  quantization.block_columns = (*block)[1];
  if (const auto excluded = section->FindUnlessNull("modules_to_not_convert")) {
    Result<std::vector<std::string>> modules = excluded->AsStrings();
    if (!modules) return tl::unexpected(modules.error());
    quantization.excluded = *std::move(modules);
  }
  return quantization;
}

// modules_to_not_convert names modules, or their last piece, or what they are inside of.
bool Excluded(const Quantization& quantization, std::string_view name) {
  const std::string_view module = name.substr(0, name.rfind('.'));
  return std::any_of(quantization.excluded.begin(), quantization.excluded.end(),
                     [&](const std::string& excluded) {
                       return module == excluded || module.starts_with(excluded + ".") ||
                              module.ends_with("." + excluded);
                     });
}

Result<DType> ReadDType(const JsonCursor& config) {
  std::optional<JsonCursor> field = config.FindUnlessNull("dtype");
  if (!field) field = config.FindUnlessNull("torch_dtype");
  if (const auto text = config.FindUnlessNull("text_config"); !field && text) {
    field = text->FindUnlessNull("dtype");
    if (!field) field = text->FindUnlessNull("torch_dtype");
  }
  if (!field) {
    return config.Fail("neither dtype nor torch_dtype says what the weights are",
                       "give torch_dtype, as in \"bfloat16\"");
  }
  const Result<std::string> name = field->AsString();
  if (!name) return tl::unexpected(name.error());
  for (const auto& [torch_name, dtype] :
       {std::pair{"bfloat16", DType::kBF16}, std::pair{"float16", DType::kF16},
        std::pair{"float32", DType::kF32}, std::pair{"float64", DType::kF64}}) {
    if (*name == torch_name) return dtype;
  }
  return field->Fail("unknown dtype '" + *name + "'",
                     "known are bfloat16, float16, float32, float64");
}

std::string Replace(std::string text, std::string_view from, std::int64_t number) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), std::to_string(number));
  return text;
}

// The tensors of a config, pattern by pattern.
class TensorLister {
 public:
  TensorLister(const Family& family, bool multimodal, const JsonCursor& config,
               Quantization quantization, DType dtype)
      : family_(family),
        multimodal_(multimodal),
        scope_(family, &config.value(), nullptr, config.document().name),
        quantization_(std::move(quantization)),
        dtype_(dtype) {}

  Result<std::vector<Tensor>> List() {
    const Result<std::int64_t> layers = scope_.Count(family_.layers, "layers");
    if (!layers) return tl::unexpected(layers.error());
    const Result<std::int64_t> mtp = scope_.Count(family_.mtp_layers, "layers");
    if (!mtp) return tl::unexpected(mtp.error());
    const Result<std::int64_t> experts = scope_.Count(family_.experts, "experts");
    if (!experts) return tl::unexpected(experts.error());
    experts_ = *experts;
    for (const TensorPattern& pattern : family_.tensors) {
      const std::string name =
          multimodal_ ? Replaced(pattern.name, family_.multimodal.prefix) : pattern.name;
      // Prediction layers count from 0 in names of their own, else on from the main ones.
      const std::int64_t shift = pattern.mtp ? *layers : 0;
      const std::int64_t all = family_.NumbersMtpApart() ? *layers : *layers + *mtp;
      std::int64_t count = pattern.mtp ? *mtp : all;
      if (name.find("{layer}") == std::string::npos)
        count = pattern.mtp ? std::min(count, kOne) : 1;
      for (std::int64_t layer = 0; layer < count; ++layer) {
        scope_.SetLayer(layer + shift);
        const Result<void> added = AddLayer(pattern, Replace(name, "{layer}", layer));
        if (!added) return tl::unexpected(added.error());
      }
    }
    return std::move(tensors_);
  }

 private:
  Result<void> AddLayer(const TensorPattern& pattern, const std::string& name) {
    if (pattern.when) {
      const Result<std::int64_t> when = scope_.Evaluate(*pattern.when);
      if (!when) return tl::unexpected(when.error());
      if (*when == 0) return {};
    }
    std::vector<std::int64_t> shape;
    for (const Expression& expression : pattern.shape) {
      const Result<std::int64_t> dim = scope_.Evaluate(expression);
      if (!dim) return tl::unexpected(dim.error());
      shape.push_back(*dim);
    }
    if (!IsExpertRole(pattern.role)) return Add(pattern, name, shape);
    for (std::int64_t expert = 0; expert < experts_; ++expert) {
      const Result<void> added = Add(pattern, Replace(name, "{expert}", expert), shape);
      if (!added) return added;
    }
    return {};
  }

  Result<void> Add(const TensorPattern& pattern, std::string name,
                   const std::vector<std::int64_t>& shape) {
    if (static_cast<std::int64_t>(tensors_.size()) >= kMaxTensors) {
      return InputError("", "its fields make over " + std::to_string(kMaxTensors) + " tensors");
    }
    if (!pattern.quantized || !quantization_.block_fp8 || Excluded(quantization_, name)) {
      tensors_.push_back({std::move(name), pattern.dtype.value_or(dtype_), shape});
      return {};
    }
    tensors_.push_back({name + std::string(kScaleSuffix),
                        DType::kF32,
                        {CeilDivide(shape[0], quantization_.block_rows),
                         CeilDivide(shape[1], quantization_.block_columns)}});
    tensors_.push_back({std::move(name), DType::kF8E4M3, shape});
    return {};
  }

  static constexpr std::int64_t kOne = 1;

  const Family& family_;
  bool multimodal_ = false;
  FieldScope scope_;
  Quantization quantization_;
  DType dtype_;
  std::int64_t experts_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace

namespace {

bool IsMultimodal(const Family& family, const JsonCursor& config) {
  const std::optional<JsonCursor> type = config.Find("model_type");
  const std::string* name = type ? type->value().AsString() : nullptr;
  const std::vector<std::string>& types = family.multimodal.model_types;
  return name != nullptr && std::find(types.begin(), types.end(), *name) != types.end();
}

}  // namespace

Result<Model> ModelFromConfig(const JsonCursor& config) {
  const Result<std::string> model_type = config.String("model_type");
  if (!model_type) return tl::unexpected(model_type.error());
  const Result<const Family*> family = FamilyByModelType(*model_type);
  if (!family) {
    return config.Fail(family.error().reason,
                       family.error().remedy + ", or give the tensor list and its family");
  }
  return ModelFromConfig(config, **family);
}

Result<Model> ModelFromConfig(const JsonCursor& config, const Family& family) {
  Result<Quantization> quantization = ReadQuantization(config);
  if (!quantization) return tl::unexpected(quantization.error());
  const Result<DType> dtype = ReadDType(config);
  if (!dtype) return tl::unexpected(dtype.error());
  Result<std::vector<Tensor>> tensors =
      TensorLister(family, IsMultimodal(family, config), config, *std::move(quantization), *dtype)
          .List();
  if (!tensors) return tl::unexpected(tensors.error());
  Model model;
  model.tensors = *std::move(tensors);
  model.family = family.name;
  model.config = {config.document().name, config.value()};
  model.tensors_from_config = true;
  const Result<void> normal = NormaliseTensors(config.Place(), model.tensors);
  if (!normal) return tl::unexpected(normal.error());
  return model;
}

}  // namespace reshard
