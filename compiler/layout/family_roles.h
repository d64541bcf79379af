// What a tensor is in its model, whatever its name: the words in which a family file describes
// names and a framework adapter describes parameters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace reshard {

enum class Role : std::uint8_t {
  // Of the whole model.
  kEmbedding,
  kLmHead,
  kFinalNorm,
  // Of a layer. Norms are called by the place they act at.
  kAttentionInputNorm,
  kMlpInputNorm,
  kAttentionQuery,
  kAttentionKey,
  kAttentionValue,
  kAttentionOutput,
  kAttentionQueryNorm,
  kAttentionKeyNorm,
  // Multi-head latent attention; kMlaQuery where the query has no low-rank form.
  kMlaQuery,
  kMlaQueryDown,
  kMlaQueryNorm,
  kMlaQueryUp,
  kMlaKeyValueDown,
  kMlaKeyValueNorm,
  kMlaKeyValueUp,
  kMlaOutput,
  kMlpGate,
  kMlpUp,
  kMlpDown,
  kRouter,
  kRouterExpertBias,
  kExpertGate,
  kExpertUp,
  kExpertDown,
  kSharedExpertGate,
  kSharedExpertUp,
  kSharedExpertDown,
  kSharedExpertRouter,
  // Of a multi-token-prediction layer; its presence tells such a layer from the main ones.
  kMtpEmbeddingNorm,
  kMtpHiddenNorm,
  kMtpProjection,
  kMtpFinalNorm,
  kMtpEmbedding,
  kMtpLmHead,
};
inline constexpr std::size_t kRoleCount = 37;

// As in a family file: "attention.q", "expert.gate", ...
std::string_view Name(Role role);
std::optional<Role> RoleFromName(std::string_view name);
// In order of the enumeration.
const std::array<std::string_view, kRoleCount>& RoleNames();

inline bool IsExpertRole(Role role) {
  return role >= Role::kExpertGate && role <= Role::kExpertDown;
}
inline bool IsMtpRole(Role role) { return role >= Role::kMtpEmbeddingNorm; }
inline bool IsModelRole(Role role) { return role <= Role::kFinalNorm; }

// The part a tensor plays for its role.
enum class Kind : std::uint8_t {
  kWeight,  // a matrix [rows, columns], or a vector
  kBias,    // one element per row of the weight
  kScale,   // one element per block of the weight
};
inline constexpr std::size_t kKindCount = 3;

}  // namespace reshard
