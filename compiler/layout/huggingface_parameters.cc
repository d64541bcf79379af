#include "compiler/layout/huggingface_parameters.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace reshard {
namespace {

void AddTensors(const FamilyTensors& model, Role role, const RoleTensors& tensors,
                std::int64_t layer, std::int64_t expert, std::vector<WholeParameter>& parameters) {
  for (const Kind kind : {Kind::kWeight, Kind::kBias, Kind::kScale}) {
    if (tensors[kind] == kNoTensor) continue;
    WholeParameter& parameter = parameters.emplace_back(WholeTensor(model, tensors[kind]));
    parameter.role = role;
    parameter.kind = kind;
    parameter.layer = layer;
    parameter.expert = expert;
  }
}

void AddRolesOfModel(const FamilyTensors& model, std::vector<WholeParameter>& parameters) {
  for (std::size_t r = 0; r < kRoleCount; ++r) {
    const Role role{static_cast<std::uint8_t>(r)};
    if (!IsModelRole(role)) continue;
    AddTensors(model, role, model[role], WholeParameter::kNone, WholeParameter::kNone, parameters);
  }
}

void AddRolesOfLayer(const FamilyTensors& model, const FamilyLayer& layer,
                     std::vector<WholeParameter>& parameters) {
  for (std::size_t r = 0; r < kRoleCount; ++r) {
    const Role role{static_cast<std::uint8_t>(r)};
    AddTensors(model, role, layer[role], layer.index, WholeParameter::kNone, parameters);
  }
}

// "model.layers.3.mlp.experts." of
// "model.layers.3.mlp.experts.17.down_proj.weight".
std::string BeforeExpert(const std::string& name) {
  constexpr int kPieces = 3;
  std::size_t end = name.size();
  for (int piece = 0; piece < kPieces && end != std::string::npos && end > 0; ++piece) {
    end = name.rfind('.', end - 1);
  }
  return end == std::string::npos ? std::string() : name.substr(0, end + 1);
}

// The weight, bias or scale of `stack`: "gate_up_proj", "gate_up_proj_bias", ..
std::string StackName(const std::string& stack, Kind kind) {
  if (kind == Kind::kBias) return stack + "_bias";
  return kind == Kind::kScale ? stack + std::string(kScaleSuffix) : stack;
}

// Gate rows and up rows of each expert joined. Block scales join only where the
// gate ends with a block.
Result<WholeParameter> JoinGateUp(const FamilyTensors& model, WholeParameter gate,
                                  const WholeParameter& up) {
  if (gate.block.shape() != up.block.shape() || gate.dtype != up.dtype) {
    return InputError("model", gate.name + ": gate and up differ in shape or dtype");
  }
  if (gate.kind == Kind::kScale) {
    const Result<std::int64_t> rows = model.Field("moe_intermediate_size");
    if (!rows) return tl::unexpected(rows.error());
    if (*rows % model.scale_block().rows != 0) {
      return InputError("model", gate.name + ": the " + std::to_string(*rows) +
                                     " gate rows of an expert end inside an FP8 block, which the "
                                     "up rows would share");
    }
  }
  constexpr int kRows = 1;
  gate.block = Block::Concat(kRows, std::array{gate.block, up.block});
  gate.joined = true;
  return gate;
}

Result<void> AddStacks(const FamilyTensors& model, const FamilyLayer& layer,
                       std::vector<WholeParameter>& parameters) {
  if (layer.experts.empty()) return {};
  const ExpertTensors& any = layer.experts.begin()->second;
  const RoleTensors& named =
      any[Role::kExpertDown].held() ? any[Role::kExpertDown] : any[Role::kExpertUp];
  if (!named.held()) {
    return InputError("model", "layer " + std::to_string(layer.index) +
                                   " lists experts with neither up nor down: their stacks would "
                                   "hold some parts only");
  }
  const std::string prefix = BeforeExpert(model.tensor(named[Kind::kWeight]).name);
  for (const Kind kind : {Kind::kWeight, Kind::kBias, Kind::kScale}) {
    const std::string joined = prefix + StackName("gate_up_proj", kind);
    auto gate = StackExperts(model, layer, Role::kExpertGate, kind, joined);
    if (!gate) return tl::unexpected(gate.error());
    auto up = StackExperts(model, layer, Role::kExpertUp, kind,
                           *gate ? joined : prefix + StackName("up_proj", kind));
    if (!up) return tl::unexpected(up.error());
    if (*gate && !*up) {
      return InputError("model", joined + " would hold some parts only",
                        "list gate and up of every expert or neither");
    }
    if (*gate) {
      Result<WholeParameter> both = JoinGateUp(model, **std::move(gate), **up);
      if (!both) return tl::unexpected(both.error());
      parameters.push_back(*std::move(both));
    } else if (*up) {
      parameters.push_back(**std::move(up));
    }
    auto down =
        StackExperts(model, layer, Role::kExpertDown, kind, prefix + StackName("down_proj", kind));
    if (!down) return tl::unexpected(down.error());
    if (*down) parameters.push_back(**std::move(down));
  }
  return {};
}

// What transformers 5 calls in memory otherwise than checkpoints do (conversion_mapping.py).
std::string MemoryName(std::string name) {
  constexpr std::string_view kPublishedPrefix = "backbone.";
  if (name.starts_with(kPublishedPrefix)) name.replace(0, kPublishedPrefix.size(), "model.");
  constexpr std::string_view kPublishedBlock = ".block_sparse_moe.";
  const std::size_t block = name.find(kPublishedBlock);
  if (block != std::string::npos) name.replace(block, kPublishedBlock.size(), ".mlp.");
  return name;
}

// transformers keeps the router of models that correct it by an expert bias as
// F32.
Result<void> CheckRouter(const FamilyTensors& model, const FamilyLayer& layer) {
  const RoleTensors& router = layer[Role::kRouter];
  if (!router.held() || !layer[Role::kRouterExpertBias].held()) return {};
  const Tensor& weight = model.tensor(router[Kind::kWeight]);
  if (weight.dtype == DType::kF32) return {};
  return InputError("model",
                    weight.name + " is " + std::string(Name(weight.dtype)) +
                        ", but transformers 5 holds it as F32",
                    "list it as F32, or say \"names\": \"published\" for a "
                    "model that is held as "
                    "published");
}

}  // namespace

Result<HuggingfaceNames> ReadHuggingfaceNames(const JsonCursor& fields) {
  const Result<std::string> names = fields.StringOr("names", "published");
  if (!names) return tl::unexpected(names.error());
  if (*names == "published") return HuggingfaceNames::kPublished;
  if (*names == "memory") return HuggingfaceNames::kMemory;
  return fields.Field("names")->Fail("unknown names '" + *names + "'",
                                     "known are 'published', 'memory'");
}

std::vector<WholeParameter> PublishedParameters(const FamilyTensors& model) {
  std::vector<WholeParameter> parameters;
  parameters.reserve(model.model().tensors.size());
  AddRolesOfModel(model, parameters);
  for (const auto& [index, layer] : model.layers()) {
    AddRolesOfLayer(model, layer, parameters);
    for (const auto& [expert, tensors] : layer.experts) {
      for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown}) {
        AddTensors(model, role, tensors[role], index, expert, parameters);
      }
    }
  }
  return parameters;
}

Result<std::vector<WholeParameter>> MemoryParameters(const FamilyTensors& model) {
  std::vector<WholeParameter> parameters;
  AddRolesOfModel(model, parameters);
  for (const auto& [index, layer] : model.layers()) {
    if (layer.mtp) continue;
    if (const Result<void> checked = CheckRouter(model, layer); !checked) {
      return tl::unexpected(checked.error());
    }
    AddRolesOfLayer(model, layer, parameters);
    if (const Result<void> added = AddStacks(model, layer, parameters); !added) {
      return tl::unexpected(added.error());
    }
  }
  for (WholeParameter& parameter : parameters) {
    parameter.name = MemoryName(std::move(parameter.name));
  }
  return parameters;
}

}  // namespace reshard
