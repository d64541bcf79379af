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
  // Of a layer. Norms are called by the place they act at; kBlockInputNorm is the one norm of a
  // layer
  // that is a mixer or a perceptron, not both.
  kBlockInputNorm,
  kAttentionInputNorm,
  kAttentionOutputNorm,
  kMlpInputNorm,
  kMlpOutputNorm,
  // kAttentionGatedQuery: per query head its rows, then as many rows of the output's gate. The
  // rotary
  // ones: a head's rows come in pairs that rotate together, where others have two halves.
  kAttentionQuery,
  kAttentionGatedQuery,
  kAttentionRotaryQuery,
  kAttentionRotaryKey,
  kAttentionKey,
  kAttentionValue,
  kAttentionOutput,
  kAttentionQueryNorm,
  kAttentionKeyNorm,
  kAttentionSinks,  // one element per query head
  // Multi-head latent attention; kMlaQuery where the query has no low-rank form.
  kMlaQuery,
  kMlaQueryDown,
  kMlaQueryNorm,
  kMlaQueryUp,
  kMlaKeyValueDown,
  kMlaKeyValueNorm,
  kMlaKeyValueUp,
  kMlaOutput,
  // Mamba2: rows of the input projection are z | x | B | C | dt, those of the convolution x | B |
  // C.
  kMambaInput,
  kMambaConvolution,
  kMambaALog,
  kMambaD,
  kMambaTimeBias,
  kMambaNorm,
  kMambaOutput,
  // Gated delta nets. The joined input projections: per key head q | k | v | z, and b | a.
  // kDeltaQkv has all of q, then k, then v, as the convolution has.
  kDeltaQkvz,
  kDeltaBa,
  kDeltaQkv,
  kDeltaZ,
  kDeltaB,
  kDeltaA,
  kDeltaConvolution,
  kDeltaALog,
  kDeltaTimeBias,
  kDeltaNorm,
  kDeltaOutput,
  kMlpGate,
  kMlpUp,
  kMlpDown,
  kRouter,
  kRouterExpertBias,
  kExpertGate,
  kExpertUp,
  kExpertDown,
  // All experts of a layer in one tensor, of which dim 0 counts them: gate and up [E, 2F, H], gate
  // rows first; down [E, H, F]. By input: [E, H, 2F], gate columns first, and [E, F, H].
  // Interleaved:
  // gate and up columns alternate.
  kExpertsGateUp,
  kExpertsDown,
  kExpertsGateUpByInput,
  kExpertsGateUpInterleaved,
  kExpertsDownByInput,
  // Projections into and out of the width at which the experts work.
  kLatentDown,
  kLatentUp,
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
inline constexpr std::size_t kRoleCount = 69;

// As in a family file: "attention.q", "expert.gate", ...
std::string_view Name(Role role);
std::optional<Role> RoleFromName(std::string_view name);
// In order of the enumeration.
const std::array<std::string_view, kRoleCount>& RoleNames();

inline bool IsExpertRole(Role role) {
  return role >= Role::kExpertGate && role <= Role::kExpertDown;
}
inline bool IsExpertStackRole(Role role) {
  return role >= Role::kExpertsGateUp && role <= Role::kExpertsDownByInput;
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
