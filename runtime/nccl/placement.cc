#include "runtime/nccl/placement.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/plan_codec.h"

namespace reshard {
namespace {

std::string Place(std::size_t rank) { return "rank " + std::to_string(rank); }

std::string_view TextOf(std::span<const char> characters) {
  const auto end = std::find(characters.begin(), characters.end(), '\0');
  return {characters.data(), static_cast<std::size_t>(end - characters.begin())};
}

template <std::size_t kSize>
void Write(const std::string& text, std::array<char, kSize>& characters) {
  std::memcpy(characters.data(), text.data(), std::min(text.size(), kSize));
}

// What NVLink connects: a fabric, or else a host.
using NvlinkPlace = std::tuple<Uuid, std::uint32_t, std::string_view>;

NvlinkPlace NvlinkPlaceOf(const RankFacts& facts) {
  if (facts.fabric_cluster != Uuid{}) return {facts.fabric_cluster, facts.fabric_clique, ""};
  return {Uuid{}, 0, TextOf(facts.host)};
}

// Two namings of the same sets: each name of one goes with one name of the other.
template <typename Planned, typename Real>
class Bijection {
 public:
  // The rank with which `planned` and `real` do not agree, or nothing.
  const std::size_t* Disagrees(std::size_t rank, const Planned& planned, const Real& real) {
    const auto by_planned = planned_.emplace(planned, std::pair(real, rank)).first;
    if (by_planned->second.first != real) return &by_planned->second.second;
    const auto by_real = real_.emplace(real, std::pair(planned, rank)).first;
    if (by_real->second.first != planned) return &by_real->second.second;
    return nullptr;
  }

 private:
  std::map<Planned, std::pair<Real, std::size_t>> planned_;
  std::map<Real, std::pair<Planned, std::size_t>> real_;
};

tl::unexpected<Error> Elsewhere(std::size_t rank, const std::string& what, std::size_t other,
                                bool planned_together) {
  const std::string together = planned_together ? "shares" : "does not share";
  const std::string really = planned_together ? "does not" : "does";
  return InputError(Place(rank),
                    "sits elsewhere than the plan believes: there it " + together + " " + what +
                        " with rank " + std::to_string(other) + ", here it " + really,
                    "start ranks in the plan's GPU order, or compile for the GPUs at hand; an "
                    "option lets other placements pass");
}

}  // namespace

RankFacts FactsOf(const RankPart& part, const MachineFacts& machine) {
  RankFacts facts;
  facts.schema_version = kPlanSchemaVersion;
  facts.is_source = part.record.source_group != kNoGroup ? 1 : 0;
  facts.is_destination = part.record.destination_group != kNoGroup ? 1 : 0;
  facts.node = part.record.node;
  facts.domain = part.record.domain;
  facts.gpu = machine.gpu;
  facts.fabric_cluster = machine.fabric_cluster;
  facts.fabric_clique = machine.fabric_clique;
  Write(part.job_digest, facts.job_digest);
  Write(machine.host, facts.host);
  return facts;
}

Result<void> CheckSamePlan(std::span<const RankFacts> ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].schema_version != ranks[0].schema_version) {
      return InputError(Place(rank),
                        "knows plans of schema version " +
                            std::to_string(ranks[rank].schema_version) + ", rank 0 of version " +
                            std::to_string(ranks[0].schema_version),
                        "run the same version of reshard on every rank");
    }
    if (ranks[rank].job_digest != ranks[0].job_digest) {
      return InputError(Place(rank),
                        "its plan is of job " + std::string(TextOf(ranks[rank].job_digest)) +
                            ", that of rank 0 of job " + std::string(TextOf(ranks[0].job_digest)),
                        "load the same plan on every rank");
    }
  }
  return {};
}

Result<void> CheckPlacement(std::span<const RankFacts> ranks) {
  Bijection<std::int32_t, std::string_view> nodes;
  Bijection<std::int32_t, NvlinkPlace> domains;
  std::map<Uuid, std::size_t> gpus;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankFacts& facts = ranks[rank];
    if (facts.gpu != Uuid{}) {
      const auto [same, is_new] = gpus.emplace(facts.gpu, rank);
      if (!is_new) {
        return InputError(Place(rank), "has the same GPU as rank " + std::to_string(same->second),
                          "give every rank a GPU of its own");
      }
    }
    if (const std::size_t* other = nodes.Disagrees(rank, facts.node, TextOf(facts.host))) {
      return Elsewhere(rank, "a node", *other, ranks[*other].node == facts.node);
    }
    if (const std::size_t* other = domains.Disagrees(rank, facts.domain, NvlinkPlaceOf(facts))) {
      return Elsewhere(rank, "an NVLink domain", *other, ranks[*other].domain == facts.domain);
    }
  }
  return {};
}

}  // namespace reshard
