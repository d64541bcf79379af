#include "compiler/planning/nic_levels.h"

#include <algorithm>
#include <cstddef>

#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

// What a NIC carries above its level and still counts as level.
constexpr double kLevelMargin = 1.002;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

std::int64_t Aligned(double bytes) { return AlignDown(static_cast<std::int64_t>(bytes)); }

}  // namespace

void LevelRequest::KeepWorth(std::int64_t turn, std::int64_t least_bytes) {
  const auto count = static_cast<std::int64_t>(preferred.size());
  const std::int64_t worth = std::max<std::int64_t>(1, bytes / least_bytes);
  if (worth >= count) return;
  std::vector<RankIndex> chosen;
  for (std::int64_t k = 0; k < worth; ++k) {
    chosen.push_back(preferred[static_cast<std::size_t>((turn + k * count / worth) % count)]);
  }
  std::ranges::sort(chosen);
  preferred = std::move(chosen);
}

RailSetBytes NicLevels::BytesOf(const std::vector<double>& loads) const {
  RailSetBytes bytes;
  for (std::size_t r = 0; r < loads.size(); ++r) {
    const std::int32_t set = bundles_.RailSetOf(static_cast<RankIndex>(r));
    if (set >= 0) bytes[{resources_.domain[r], set}] += loads[r];
  }
  return bytes;
}

std::vector<double> NicLevels::Limits(const RailSetBytes& bytes) const {
  RailSetBytes rates = BytesOf(resources_.network_gbps);
  std::vector<double> limits(resources_.domain.size(), 0);
  for (std::size_t r = 0; r < limits.size(); ++r) {
    const std::pair place(resources_.domain[r], bundles_.RailSetOf(static_cast<RankIndex>(r)));
    if (place.second < 0) continue;
    const auto there = bytes.find(place);
    const double level = there == bytes.end() ? 0 : there->second / rates[place];
    limits[r] =
        std::max(level * kLevelMargin, least_seconds_ * kBytesPerGB) * resources_.network_gbps[r];
  }
  return limits;
}

std::vector<std::vector<std::pair<RankIndex, std::int64_t>>> NicLevels::Deal(
    const std::vector<LevelRequest>& requests, std::vector<double>& loads) const {
  std::vector<SplitRequest> splits;
  for (const LevelRequest& request : requests) {
    splits.push_back({request.bytes, request.preferred});
  }
  const auto shares = SplitBalanced(splits, resources_.network_gbps, loads);
  const std::vector<double> limits = Limits(BytesOf(loads));
  std::vector<double> excess(loads.size());
  for (std::size_t r = 0; r < loads.size(); ++r) {
    excess[r] = loads[r] > 0 ? std::max(0.0, 1 - limits[r] / loads[r]) : 0;
  }
  std::vector<std::vector<std::pair<RankIndex, std::int64_t>>> dealt;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& of_request = dealt.emplace_back();
    for (std::size_t k = 0; k < shares[i].size(); ++k) {
      const RankIndex from = requests[i].preferred[k];
      std::int64_t kept = shares[i][k];
      std::int64_t moved = Aligned(static_cast<double>(kept) * excess[At(from)]);
      for (const RankIndex to : requests[i].others) {
        const std::int64_t part = std::min(moved, Aligned(limits[At(to)] - loads[At(to)]));
        if (part <= 0) continue;
        of_request.emplace_back(to, part);
        loads[At(to)] += static_cast<double>(part);
        loads[At(from)] -= static_cast<double>(part);
        kept -= part;
        moved -= part;
      }
      of_request.emplace_back(from, kept);
    }
  }
  return dealt;
}

}  // namespace reshard
