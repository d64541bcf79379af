#include "runtime/nccl/placement.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string_view>
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

bool ShareHost(const RankFacts& a, const RankFacts& b) { return a.host == b.host; }

bool ShareFabric(const RankFacts& a, const RankFacts& b) {
  return a.fabric_cluster != Uuid{} && a.fabric_cluster == b.fabric_cluster &&
         a.fabric_clique == b.fabric_clique;
}

bool AreIslands(const RankFacts& a, const RankFacts& b) {
  return a.domain != b.domain && a.island != Uuid{} && b.island != Uuid{} && a.island != b.island;
}

tl::unexpected<Error> Elsewhere(std::size_t rank, const std::string& what, std::size_t other,
                                bool planned_together) {
  const std::string together = planned_together ? "shares" : "does not share";
  const std::string really = planned_together ? "does not" : "does";
  return InputError(Place(rank),
                    "sits elsewhere than the plan believes: there it " + together + " " + what +
                        " with rank " + std::to_string(other) + ", here it " + really,
                    "start ranks in the plan's GPU order, or compile for the GPUs at hand; "
                    "--ignore-placement (checks_placement) lets other placements pass");
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
  facts.island = machine.island;
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
  // The first rank of each stands for it.
  std::map<Uuid, std::size_t> gpus;
  std::map<std::int32_t, std::size_t> nodes;
  std::map<std::int32_t, std::size_t> domains;
  std::map<std::string_view, std::vector<std::size_t>> hosts;  // one rank of each of its nodes
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankFacts& facts = ranks[rank];
    if (facts.gpu != Uuid{}) {
      const auto [same, is_new] = gpus.emplace(facts.gpu, rank);
      if (!is_new) {
        return InputError(Place(rank), "has the same GPU as rank " + std::to_string(same->second),
                          "give every rank a GPU of its own");
      }
    }
    const auto [of_node, is_first_of_node] = nodes.emplace(facts.node, rank);
    if (!ShareHost(facts, ranks[of_node->second])) {
      return Elsewhere(rank, "a node", of_node->second, true);
    }
    std::vector<std::size_t>& on_host = hosts[TextOf(facts.host)];
    if (is_first_of_node) {
      for (const std::size_t other : on_host) {
        if (!AreIslands(facts, ranks[other])) return Elsewhere(rank, "a node", other, false);
      }
      on_host.push_back(rank);
    }
    const std::size_t of_domain = domains.emplace(facts.domain, rank).first->second;
    if (!ShareHost(facts, ranks[of_domain]) && !ShareFabric(facts, ranks[of_domain])) {
      return Elsewhere(rank, "an NVLink domain", of_domain, true);
    }
  }
  return {};
}

}  // namespace reshard
