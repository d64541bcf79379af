// How the adapter megatron adds one layer; megatron_layer.h is what others use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "compiler/layout/block.h"
#include "compiler/layout/family_attention.h"
#include "compiler/layout/family_linear.h"
#include "compiler/layout/family_tensors.h"
#include "compiler/layout/megatron_degrees.h"
#include "compiler/layout/rank_layout_builder.h"
#include "foundation/error.h"

namespace reshard {

// Adds the parameters of one layer of one rank. Everything it is given must outlive it.
class MegatronLayerBuilder {
 public:
  MegatronLayerBuilder(const FamilyTensors& model, const MegatronDegrees& degrees,
                       const MegatronCoordinates& at, const FamilyLayer& layer,
                       RankLayoutBuilder& builder);

  Result<void> Add();

 private:
  // How a linear is cut over the tensor ranks.
  struct Over {
    std::int64_t count = 1;
    std::int64_t index = 0;
  };
  Over Dense() const { return {degrees_.tensor, at_.tensor}; }
  Over ExpertTensor() const { return {degrees_.expert_tensor, at_.expert_tensor}; }
  std::string MtpPrefix() const;
  const std::string& NameOf(const RoleTensors& tensors) const;
  bool IsMoe() const;
  Result<std::string> InputNormName() const;

  // A tensor whole, as a parameter of its own.
  Result<void> AddWhole(Role role, const std::string& parameter);
  Result<void> AddWholeLinear(Role role, const std::string& module);
  // A vector, each rank an equal share of it.
  Result<void> AddCutVector(Role role, const std::string& parameter);
  // Column parallel: of each part its share of the rows, joined.
  Result<LinearCut> Columns(std::span<const RoleTensors> parts, const Over& over) const;
  // Row parallel: all rows, a share of the columns. The bias is added once, and kept whole.
  Result<LinearCut> Rows(const RoleTensors& tensors, const Over& over) const;
  Result<void> AddColumnParallel(Role role, const std::string& module);
  Result<void> AddRowParallel(Role role, const std::string& module);
  // Gate and up of one module: the rank's rows of gate, then its rows of up.
  Result<void> AddGateUp(const std::array<Role, 2>& roles, const std::string& module);
  Result<void> CheckWholeHeads(const std::string& module) const;

  // megatron_layer.cc
  Result<void> AddNorms();
  Result<void> AddGroupedQuery();
  Result<void> AddLatent();
  Result<void> AddDense();
  Result<void> AddRouter();
  Result<void> AddShared();
  Result<void> AddExperts();
  Result<void> AddMtp();
  // megatron_mixers.cc
  Result<void> AddMamba();
  Result<void> AddDelta();
  // megatron_experts.cc
  Result<void> AddExpertStack();

  const FamilyTensors& model_;
  const MegatronDegrees& degrees_;
  const MegatronCoordinates& at_;
  const FamilyLayer& layer_;
  RankLayoutBuilder& builder_;
  LinearBuilder linear_;
  std::string prefix_;
};

}  // namespace reshard
