#include "compiler/baselines/collective_rings.h"

#include <algorithm>
#include <cstddef>

#include "compiler/baselines/traffic_builder.h"

namespace reshard {

std::vector<std::vector<RankIndex>> CollectiveRings(const JobRecords& job,
                                                    std::span<const RankIndex> ranks) {
  const auto domain_of = [&](RankIndex rank) {
    return job.ranks[static_cast<std::size_t>(rank)].domain;
  };
  std::vector<std::vector<RankIndex>> domains;  // ranks ascend by GPU, so by domain
  std::size_t most = 0;
  for (const RankIndex rank : ranks) {
    if (domains.empty() || domain_of(domains.back().front()) != domain_of(rank)) {
      domains.emplace_back();
    }
    domains.back().push_back(rank);
    most = std::max(most, domains.back().size());
  }
  std::vector<std::vector<RankIndex>> rings(most);
  for (std::size_t ring = 0; ring < most; ++ring) {
    for (const std::vector<RankIndex>& members : domains) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        rings[ring].push_back(members[(ring + i) % members.size()]);
      }
    }
  }
  return rings;
}

std::int64_t RingBytes(std::int64_t bytes, std::size_t ring, std::size_t rings) {
  const ItemRange part =
      DivideRange(bytes, static_cast<std::int64_t>(rings), static_cast<std::int64_t>(ring));
  return part.end - part.begin;
}

}  // namespace reshard
