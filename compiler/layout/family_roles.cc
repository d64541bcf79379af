#include "compiler/layout/family_roles.h"

#include <algorithm>

namespace reshard {

const std::array<std::string_view, kRoleCount>& RoleNames() {
  static constexpr std::array<std::string_view, kRoleCount> kNames{
      "embedding",
      "lm_head",
      "norm.final",
      "norm.block_input",
      "norm.attention_input",
      "norm.attention_output",
      "norm.mlp_input",
      "norm.mlp_output",
      "attention.q",
      "attention.gated_q",
      "attention.rotary_q",
      "attention.rotary_k",
      "attention.k",
      "attention.v",
      "attention.o",
      "attention.q_norm",
      "attention.k_norm",
      "attention.sinks",
      "mla.q",
      "mla.q_a",
      "mla.q_a_norm",
      "mla.q_b",
      "mla.kv_a",
      "mla.kv_a_norm",
      "mla.kv_b",
      "mla.o",
      "mamba.in_proj",
      "mamba.conv",
      "mamba.a_log",
      "mamba.d",
      "mamba.dt_bias",
      "mamba.norm",
      "mamba.out",
      "delta.qkvz",
      "delta.ba",
      "delta.qkv",
      "delta.z",
      "delta.b",
      "delta.a",
      "delta.conv",
      "delta.a_log",
      "delta.dt_bias",
      "delta.norm",
      "delta.out",
      "mlp.gate",
      "mlp.up",
      "mlp.down",
      "router",
      "router.expert_bias",
      "expert.gate",
      "expert.up",
      "expert.down",
      "experts.gate_up",
      "experts.down",
      "experts.gate_up_by_input",
      "experts.gate_up_interleaved",
      "experts.down_by_input",
      "latent.down",
      "latent.up",
      "shared_expert.gate",
      "shared_expert.up",
      "shared_expert.down",
      "shared_expert.router",
      "mtp.embedding_norm",
      "mtp.hidden_norm",
      "mtp.projection",
      "mtp.final_norm",
      "mtp.embedding",
      "mtp.lm_head",
  };
  return kNames;
}

std::string_view Name(Role role) { return RoleNames()[static_cast<std::size_t>(role)]; }

std::optional<Role> RoleFromName(std::string_view name) {
  const auto& names = RoleNames();
  const auto* found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Role>(found - names.begin());
}

}  // namespace reshard
