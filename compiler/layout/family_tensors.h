// A model's tensors by what they are: role, kind, layer and expert.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/family.h"
#include "compiler/layout/family_fields.h"
#include "compiler/layout/family_roles.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"

namespace reshard {

inline constexpr TensorIndex kNoTensor = -1;

// The tensors of one role: the weight and what goes with it.
struct RoleTensors {
  std::array<TensorIndex, kKindCount> of_kind{kNoTensor, kNoTensor, kNoTensor};

  TensorIndex& operator[](Kind kind) { return of_kind[static_cast<std::size_t>(kind)]; }
  TensorIndex operator[](Kind kind) const { return of_kind[static_cast<std::size_t>(kind)]; }
  bool held() const { return (*this)[Kind::kWeight] != kNoTensor; }
  bool empty() const { return of_kind == RoleTensors().of_kind; }
};

// Gate, up and down of one expert.
struct ExpertTensors {
  std::array<RoleTensors, 3> roles;
  const RoleTensors& operator[](Role role) const {
    return roles[static_cast<std::size_t>(role) - static_cast<std::size_t>(Role::kExpertGate)];
  }
};

struct FamilyLayer {
  std::int64_t index = 0;
  bool mtp = false;
  std::array<RoleTensors, kRoleCount> roles;      // expert roles apart
  std::map<std::int64_t, ExpertTensors> experts;  // those listed

  const RoleTensors& operator[](Role role) const { return roles[static_cast<std::size_t>(role)]; }
};

// What FP8 checkpoints scale together.
struct ScaleBlock {
  std::int64_t rows = 128;
  std::int64_t columns = 128;
};

class FamilyTensors {
 public:
  // Errors: no family (FamilyOf), a tensor that no pattern of it names, an index beyond the
  // config's counts, a shape that contradicts config and family. Refers to `model`, which must
  // outlive it.
  static Result<FamilyTensors> Classify(const Model& model);

  const Model& model() const { return *model_; }
  const Family& family() const { return *family_; }
  const Tensor& tensor(TensorIndex index) const {
    return model_->tensors[static_cast<std::size_t>(index)];
  }
  // Of a role of the whole model: embedding, final norm, LM head.
  const RoleTensors& operator[](Role role) const { return roles_[static_cast<std::size_t>(role)]; }
  // By index; only layers some tensor of which is listed. Main layers are 0 .. layer_count() - 1,
  // multi-token-prediction layers follow.
  const std::map<std::int64_t, FamilyLayer>& layers() const { return layers_; }
  std::int64_t layer_count() const { return layer_count_; }
  std::int64_t mtp_layer_count() const { return mtp_layer_count_; }
  std::int64_t expert_count() const { return expert_count_; }
  bool tied() const { return tied_; }  // the LM head is the embedding
  bool has_experts() const { return has_experts_; }
  const ScaleBlock& scale_block() const { return scale_block_; }

  // What a framework that keeps the names of tensors calls this one (Family::names). Plain names
  // are those of the family's patterns, whichever form the model has.
  std::string NameIn(std::string_view framework, TensorIndex tensor) const;
  // The same of a name that need not be a tensor's.
  std::string NameIn(std::string_view framework, std::string plain_name) const;
  std::string PlainName(TensorIndex tensor) const;
  // Whether it is the model inside a larger one.
  bool multimodal() const { return multimodal_; }

  // A field of the config, an integer.
  Result<std::int64_t> Field(std::string_view name) const { return scope_->Integer(name); }
  // The same of a size: 1 to 2^20, far above any model and small enough that products of a few stay
  // within 64 bits.
  Result<std::int64_t> SizeField(std::string_view name) const;
  // The value `otherwise` where the family does not know the field.
  Result<std::int64_t> FieldOr(std::string_view name, std::int64_t otherwise) const;

 private:
  FamilyTensors(const Model& model, std::shared_ptr<const Family> family)
      : model_(&model), family_(std::move(family)) {}
  RoleTensors& RoleOf(const NameMatch& match);
  std::int64_t LayerOf(const NameMatch& match) const;
  const NameReplacements* NamesOf(std::string_view framework) const;
  Result<void> Place();
  void NumberMtpLayers();
  Result<void> Count();
  Result<void> ReadScaleBlock();
  Result<void> CheckShapes();
  Result<void> CheckScale(std::size_t index);
  void ReadShapes();

  const Model* model_;
  std::shared_ptr<const Family> family_;
  std::vector<NameMatch> matches_;  // of each tensor
  std::array<RoleTensors, kRoleCount> roles_;
  std::map<std::int64_t, FamilyLayer> layers_;
  std::int64_t layer_count_ = 0;
  std::int64_t mtp_layer_count_ = 0;
  std::int64_t expert_count_ = 0;
  bool tied_ = false;
  bool has_experts_ = false;
  bool multimodal_ = false;
  bool numbered_ = false;  // prediction layers that are numbered apart stand at their final indices
  ScaleBlock scale_block_;
  // Behind pointers, so that the scope's reference to the shapes survives a move.
  std::unique_ptr<RoleShapes> shapes_ = std::make_unique<RoleShapes>();
  std::unique_ptr<FieldScope> scope_;
};

}  // namespace reshard
