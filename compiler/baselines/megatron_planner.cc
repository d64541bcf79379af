#include "compiler/baselines/megatron_planner.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "compiler/baselines/even_cut.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"

namespace reshard {
namespace {

using DataGroups = std::vector<std::vector<RankIndex>>;

class MegatronTraffic {
 public:
  MegatronTraffic(const Plan& plan, const WrittenSide& source)
      : plan_(plan), source_(source), coverage_(plan.job) {}

  void Add(const PlacedTensors& placed) {
    const auto from = FindEvenCut(placed, placed.sources);
    if (!from) return coverage_.Omit(placed, "on the source " + from.error());
    const auto to = FindEvenCut(placed, placed.destinations);
    if (!to) return coverage_.Omit(placed, "on the destination " + to.error());
    if (from->dim && to->dim && *from->dim != *to->dim) {
      return coverage_.Omit(placed, "cut along different dims on the two sides");
    }
    AddTiles(placed, *from, *to);
  }

  Traffic Take() { return OnePhase(std::move(group_), coverage_, plan_); }

 private:
  void AddTiles(const PlacedTensors& placed, const EvenCut& from, const EvenCut& to) {
    const std::int64_t tiles = std::lcm(from.parts, to.parts);
    const std::size_t dim = from.dim.value_or(to.dim.value_or(0));
    std::int64_t elements = 1;
    for (const std::int64_t extent : placed.shape) elements *= extent;
    const std::int64_t bytes = elements / tiles * placed.element_bytes * placed.count();
    // A tile is one run of bytes if nothing before its dim has several elements.
    const bool strided =
        std::any_of(placed.shape.begin(), placed.shape.begin() + static_cast<std::ptrdiff_t>(dim),
                    [](std::int64_t extent) { return extent > 1; });
    const bool packs = strided && tiles > from.parts;
    const bool unpacks = strided && tiles > to.parts;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const Shard& source = placed.sources[static_cast<std::size_t>(tile * from.parts / tiles)];
      const Shard& destination =
          placed.destinations[static_cast<std::size_t>(tile * to.parts / tiles)];
      const DataGroups groups = GroupsOf(placed, source.ranks);
      for (const RankIndex rank : destination.ranks) {
        const RankIndex sender = SenderOf(rank, source.ranks, groups);
        group_.AddFlow(sender, rank, bytes, placed.count());
        if (sender == rank) {
          group_.AddUnpack(rank, bytes);
          continue;
        }
        if (packs) group_.AddPack(sender, bytes);
        if (unpacks) group_.AddUnpack(rank, bytes);
      }
    }
  }

  // The ranks by data-parallel group, in the order of their first ranks.
  DataGroups GroupsOf(const PlacedTensors& placed, std::span<const RankIndex> ranks) const {
    const bool expert =
        IsExpert(plan_.job.tensors[static_cast<std::size_t>(placed.tensors.front())].name);
    std::map<std::int64_t, std::size_t> numbers;
    DataGroups groups;
    for (const RankIndex rank : ranks) {
      const WrittenPlace& place = source_.places[static_cast<std::size_t>(rank)];
      const std::int64_t group = expert ? place.expert_group : place.dense_group;
      const auto [found, is_new] = numbers.try_emplace(group, groups.size());
      if (is_new) groups.emplace_back();
      groups[found->second].push_back(rank);
    }
    return groups;
  }

  static RankIndex SenderOf(RankIndex rank, std::span<const RankIndex> holders,
                            const DataGroups& groups) {
    if (std::ranges::binary_search(holders, rank)) return rank;
    if (groups.size() == 1) return holders.front();
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<RankIndex>& group = groups[r % groups.size()];
    return group[r / groups.size() % group.size()];
  }

  const Plan& plan_;
  const WrittenSide& source_;
  PhaseBuilder group_;
  CoverageBuilder coverage_;
};

}  // namespace

Result<void> MegatronPlanner::MakeSchedule(const Job& job, const CostModel& /*cost_model*/,
                                           Plan& plan) const {
  const Result<WrittenSide> source = ReadWrittenSide(job, "source");
  if (!source) return tl::unexpected(source.error());
  MegatronTraffic traffic(plan, *source);
  for (const PlacedTensors& placed : PlaceTensors(plan.job)) traffic.Add(placed);
  SetTraffic(traffic.Take(), plan);
  return {};
}

}  // namespace reshard
