#include "compiler/layout/family_tensors.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/layout/family_catalog.h"
#include "foundation/checked_arithmetic.h"
#include "schedules/number_text.h"

namespace reshard {
Result<FamilyTensors> FamilyTensors::Classify(const Model& model) {
  Result<std::shared_ptr<const Family>> family = FamilyOf(model);
  if (!family) return tl::unexpected(family.error());
  FamilyTensors tensors(model, *std::move(family));
  if (const Result<void> placed = tensors.Place(); !placed) {
    return tl::unexpected(placed.error());
  }
  tensors.ReadShapes();
  const std::string place = model.config.name.empty() ? "model" : model.config.name;
  tensors.scope_ = std::make_unique<FieldScope>(*tensors.family_, &model.config.root,
                                                tensors.shapes_.get(), place);
  if (const Result<void> counted = tensors.Count(); !counted) {
    return tl::unexpected(counted.error());
  }
  if (const Result<void> read = tensors.ReadScaleBlock(); !read) {
    return tl::unexpected(read.error());
  }
  if (const Result<void> checked = tensors.CheckShapes(); !checked) {
    return tl::unexpected(checked.error());
  }
  return tensors;
}

// Prediction layers that are numbered apart stand behind all others until the main ones are
// counted.
constexpr std::int64_t kFirstApart = std::int64_t{1} << 32;

std::int64_t FamilyTensors::LayerOf(const NameMatch& match) const {
  if (!family_->tensors[static_cast<std::size_t>(match.pattern)].mtp) return match.layer;
  return (numbered_ ? layer_count_ : kFirstApart) + std::max<std::int64_t>(match.layer, 0);
}

void FamilyTensors::NumberMtpLayers() {
  numbered_ = true;
  for (auto apart = layers_.lower_bound(kFirstApart); apart != layers_.end();) {
    auto node = layers_.extract(apart++);
    node.key() += layer_count_ - kFirstApart;
    node.mapped().index = node.key();
    layers_.insert(std::move(node));
  }
}

RoleTensors& FamilyTensors::RoleOf(const NameMatch& match) {
  const Role role = family_->tensors[static_cast<std::size_t>(match.pattern)].role;
  if (IsModelRole(role)) return roles_[static_cast<std::size_t>(role)];
  FamilyLayer& layer = layers_[LayerOf(match)];
  if (!IsExpertRole(role)) return layer.roles[static_cast<std::size_t>(role)];
  const auto first = static_cast<std::size_t>(Role::kExpertGate);
  return layer.experts[match.expert].roles[static_cast<std::size_t>(role) - first];
}

Result<void> FamilyTensors::Place() {
  const NameMatcher matcher(*family_);
  matches_.reserve(model_->tensors.size());
  for (std::size_t t = 0; t < model_->tensors.size(); ++t) {
    const std::string& name = model_->tensors[t].name;
    const std::optional<NameMatch> match = matcher.Match(name);
    if (!match) {
      return InputError("model", "family " + family_->name + " has no tensor " + name,
                        "leave the tensor out, or name another family");
    }
    matches_.push_back(*match);
    const TensorPattern& pattern = family_->tensors[static_cast<std::size_t>(match->pattern)];
    TensorIndex& held = RoleOf(*match)[match->scale ? Kind::kScale : pattern.kind];
    if (held != kNoTensor) {
      return InputError(
          "model",
          name + " and " + tensor(held).name + " are one tensor of family " + family_->name,
          "leave one out");
    }
    held = static_cast<TensorIndex>(t);
    multimodal_ = multimodal_ || match->multimodal;
    if (IsModelRole(pattern.role)) continue;
    const std::int64_t index = LayerOf(*match);
    FamilyLayer& layer = layers_[index];
    layer.index = index;
    layer.mtp = layer.mtp || pattern.mtp || IsMtpRole(pattern.role);
    has_experts_ = has_experts_ || IsExpertRole(pattern.role) || IsExpertStackRole(pattern.role);
  }
  return {};
}

// The first weight of each role, in order of layer and expert.
void FamilyTensors::ReadShapes() {
  const auto note = [&](Role role, const RoleTensors& tensors) {
    auto& shape = shapes_->weight[static_cast<std::size_t>(role)];
    if (!shape && tensors.held()) shape = tensor(tensors[Kind::kWeight]).shape;
  };
  for (std::size_t r = 0; r < kRoleCount; ++r) note(static_cast<Role>(r), roles_[r]);
  for (const auto& [index, layer] : layers_) {
    for (std::size_t r = 0; r < kRoleCount; ++r) note(static_cast<Role>(r), layer.roles[r]);
    for (const auto& [expert, tensors] : layer.experts) {
      for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown}) {
        note(role, tensors[role]);
      }
      shapes_->experts = std::max(shapes_->experts, expert + 1);
    }
    if (!layer.mtp) shapes_->layers = std::max(shapes_->layers, index + 1);
  }
}

Result<void> FamilyTensors::Count() {
  const Result<std::int64_t> layers = scope_->Count(family_->layers, "layers");
  if (!layers) return tl::unexpected(layers.error());
  layer_count_ = *layers;
  for (const auto& [index, layer] : layers_) {
    if (!layer.mtp && family_->NumbersMtpApart() && index >= layer_count_) {
      return InputError("model", "layer " + std::to_string(index) + " is listed, but config says " +
                                     std::to_string(layer_count_) + " layers");
    }
  }
  NumberMtpLayers();
  for (auto& [index, layer] : layers_) {
    // A listed layer behind the main ones is one of multi-token prediction, whichever of its
    // tensors are listed.
    if (index >= layer_count_) layer.mtp = true;
    if (layer.mtp && index < layer_count_) {
      return InputError("model", "layer " + std::to_string(index) +
                                     " has tensors of multi-token prediction, but config says " +
                                     std::to_string(layer_count_) + " main layers");
    }
    if (layer.mtp) mtp_layer_count_ = std::max(mtp_layer_count_, index + 1 - layer_count_);
  }
  if (mtp_layer_count_ > 0 && !family_->mtp_layers) {
    return InputError("model", "layer " + std::to_string(layer_count_ + mtp_layer_count_ - 1) +
                                   " is listed, but config says " + std::to_string(layer_count_) +
                                   " layers");
  }
  if (has_experts_) {
    const Result<std::int64_t> experts = scope_->Count(family_->experts, "experts");
    if (!experts) return tl::unexpected(experts.error());
    expert_count_ = *experts;
    if (shapes_->experts > expert_count_) {
      return InputError("model", "expert " + std::to_string(shapes_->experts - 1) +
                                     " is listed, but config says " +
                                     std::to_string(expert_count_) + " experts");
    }
  }
  const Result<std::int64_t> tied = FieldOr("tie_word_embeddings", 0);
  if (!tied) return tl::unexpected(tied.error());
  tied_ = *tied != 0;
  return {};
}

Result<void> FamilyTensors::ReadScaleBlock() {
  const JsonValue* config = model_->config.root.Find("quantization_config");
  const JsonValue* sizes = config == nullptr ? nullptr : config->Find("weight_block_size");
  if (sizes == nullptr || sizes->IsNull()) return {};
  const JsonValue::Array* pair = sizes->AsArray();
  constexpr std::size_t kDims = 2;
  if (pair != nullptr && pair->size() == kDims) {
    const std::int64_t* rows = (*pair)[0].AsInteger();
    const std::int64_t* columns = (*pair)[1].AsInteger();
    if (rows != nullptr && columns != nullptr && *rows > 0 && *columns > 0) {
      scale_block_ = {*rows, *columns};
      return {};
    }
  }
  return InputError(model_->config.name + ": quantization_config.weight_block_size",
                    "expected two positive integers");
}

Result<void> FamilyTensors::CheckScale(std::size_t index) {
  const Tensor& scale = model_->tensors[index];
  const TensorIndex weight = RoleOf(matches_[index])[Kind::kWeight];
  if (weight == kNoTensor) {
    return InputError("model", scale.name + " has no weight beside it", "list the weight too");
  }
  const std::vector<std::int64_t>& shape = tensor(weight).shape;
  constexpr std::size_t kDims = 2;
  if (shape.size() == kDims && scale.shape.size() == kDims &&
      scale.shape[0] == CeilDivide(shape[0], scale_block_.rows) &&
      scale.shape[1] == CeilDivide(shape[1], scale_block_.columns)) {
    return {};
  }
  return InputError("model",
                    scale.name + " is " + ShapeText(scale.shape) +
                        ", which does not fit blocks of " +
                        ShapeText(std::array{scale_block_.rows, scale_block_.columns}) +
                        " of a weight of " + ShapeText(shape),
                    "give config.quantization_config.weight_block_size");
}

// Dims that no field tells are left unchecked: who needs such a field asks for it.
Result<void> FamilyTensors::CheckShapes() {
  struct Expected {
    std::int64_t layer = -2;  // what the dims were evaluated for: the experts of a layer are alike
    std::vector<std::optional<std::int64_t>> dims;
  };
  std::vector<Expected> expected(family_->tensors.size());
  for (std::size_t t = 0; t < matches_.size(); ++t) {
    const NameMatch& match = matches_[t];
    if (match.scale) {
      if (const Result<void> checked = CheckScale(t); !checked) return checked;
      continue;
    }
    const TensorPattern& pattern = family_->tensors[static_cast<std::size_t>(match.pattern)];
    auto& [layer, dims] = expected[static_cast<std::size_t>(match.pattern)];
    const std::int64_t index = LayerOf(match);
    if (layer != index) {
      layer = index;
      scope_->SetLayer(index);
      dims.clear();
      for (const Expression& expression : pattern.shape) {
        const Result<std::int64_t> dim = expression.EvaluateInteger(*scope_);
        dims.push_back(dim ? std::optional(*dim) : std::nullopt);
      }
    }
    const Tensor& listed = model_->tensors[t];
    bool equal = listed.shape.size() == dims.size();
    std::string wanted;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      equal = equal && (!dims[dim] || *dims[dim] == listed.shape[dim]);
    }
    if (equal) continue;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      wanted += (dim == 0 ? "" : ", ") +
                (dims[dim] ? std::to_string(*dims[dim]) : pattern.shape[dim].text());
    }
    return InputError("model", listed.name + " is " + ShapeText(listed.shape) + ", but family " +
                                   family_->name + " has [" + wanted + "]");
  }
  return {};
}

std::string FamilyTensors::PlainName(TensorIndex index) const {
  const NameMatch& match = matches_[static_cast<std::size_t>(index)];
  const TensorPattern& pattern = family_->tensors[static_cast<std::size_t>(match.pattern)];
  NameReplacements numbers{{"{layer}", std::to_string(match.layer)},
                           {"{expert}", std::to_string(match.expert)}};
  return Replaced(pattern.name, numbers) + (match.scale ? std::string(kScaleSuffix) : "");
}

const NameReplacements* FamilyTensors::NamesOf(std::string_view framework) const {
  const FrameworkNames& names = multimodal_ ? family_->multimodal.names : family_->names;
  const auto found = names.find(framework);
  return found == names.end() ? nullptr : &found->second;
}

std::string FamilyTensors::NameIn(std::string_view framework, std::string plain_name) const {
  const NameReplacements* names = NamesOf(framework);
  return names == nullptr ? plain_name : Replaced(std::move(plain_name), *names);
}

std::string FamilyTensors::NameIn(std::string_view framework, TensorIndex index) const {
  const NameReplacements* names = NamesOf(framework);
  return names == nullptr ? tensor(index).name : Replaced(PlainName(index), *names);
}

Result<std::int64_t> FamilyTensors::SizeField(std::string_view name) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  const Result<std::int64_t> value = Field(name);
  if (!value || (*value >= 1 && *value <= kMost)) return value;
  return InputError("model", "config." + std::string(name) + " is " + std::to_string(*value) +
                                 "; expected 1 to " + std::to_string(kMost));
}

Result<std::int64_t> FamilyTensors::FieldOr(std::string_view name, std::int64_t otherwise) const {
  if (family_->FindField(name) == nullptr) return otherwise;
  return Field(name);
}

}  // namespace reshard
