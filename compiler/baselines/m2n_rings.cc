#include "compiler/baselines/m2n_rings.h"

#include <algorithm>
#include <utility>

#include "compiler/baselines/traffic_builder.h"

namespace reshard {
namespace {

// Field notes, section 5: where injection is limited, and to how many replicas at most.
constexpr std::int64_t kUnlimitedRanks = 200;
constexpr std::int64_t kMostInjectors = 4;

std::vector<M2nRing> LimitedRings(const M2nMeshes& meshes) {
  const std::int64_t span =
      meshes.replicas_inner
          ? meshes.domains
          : std::max<std::int64_t>(1, meshes.domains / meshes.destination_replicas);
  const std::int64_t injectors =
      span > 1 ? 1
               : std::min({meshes.source_replicas, meshes.destination_replicas, kMostInjectors});
  const std::int64_t heads = std::min(injectors * span, meshes.domains);
  std::vector<M2nRing> rings;
  for (std::int64_t head = 0; head < heads; ++head) {
    M2nRing ring{head / span, {}};
    for (std::int64_t domain = head; domain < meshes.domains; domain += heads) {
      ring.domains.push_back(domain);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace

std::vector<M2nRing> FindM2nRings(const M2nMeshes& meshes) {
  if (meshes.job_ranks > kUnlimitedRanks) return LimitedRings(meshes);
  std::vector<M2nRing> rings;
  const std::int64_t serving = std::min(meshes.source_replicas, meshes.domains);
  for (std::int64_t replica = 0; replica < serving; ++replica) {
    const ItemRange served = DivideRange(meshes.domains, serving, replica);
    M2nRing ring{replica, {}};
    for (std::int64_t domain = served.begin; domain < served.end; ++domain) {
      ring.domains.push_back(domain);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace reshard
