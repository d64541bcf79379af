#include "simulator/plateau.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr RankIndex kNobody = -1;

// Ranks joined into sets.
class RankSets {
 public:
  explicit RankSets(std::size_t ranks) : parent_(ranks) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  RankIndex Find(RankIndex rank) {
    while (parent_[At(rank)] != rank) {
      parent_[At(rank)] = parent_[At(parent_[At(rank)])];
      rank = parent_[At(rank)];
    }
    return rank;
  }
  void Join(RankIndex a, RankIndex b) {
    a = Find(a);
    b = Find(b);
    parent_[At(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<RankIndex> parent_;
};

// Joins the ends of all transfers over each resource that no rank is an end of all of: between
// rounds of one rank nothing else keeps flows apart.
void JoinOverSharedResources(const ReplayModel& model, RankSets& sets) {
  struct Ends {
    bool used = false;
    RankIndex first = kNobody;  // of the ranks that every transfer so far has had as an end
    RankIndex second = kNobody;
  };
  std::vector<Ends> resources(model.capacities.size());
  const auto for_each = [&](const auto& visit) {
    for (std::size_t t = 0; t < model.transfers.size(); ++t) {
      for (const ResourceShare& use : model.flows.Shares(static_cast<FlowIndex>(t))) {
        visit(model.transfers[t], use.resource);
      }
    }
  };
  for_each([&](const ModelTransfer& transfer, ResourceIndex resource) {
    Ends& ends = resources[At(resource)];
    if (!ends.used) {
      ends = {true, transfer.from, transfer.to};
      return;
    }
    for (RankIndex* end : {&ends.first, &ends.second}) {
      if (*end != transfer.from && *end != transfer.to) *end = kNobody;
    }
  });
  std::vector<RankIndex> joined(resources.size(), kNobody);
  for_each([&](const ModelTransfer& transfer, ResourceIndex resource) {
    const Ends& ends = resources[At(resource)];
    if (ends.first != kNobody || ends.second != kNobody) return;
    sets.Join(transfer.from, transfer.to);
    if (joined[At(resource)] != kNobody) sets.Join(joined[At(resource)], transfer.from);
    joined[At(resource)] = transfer.from;
  });
}

std::int64_t BytesIn(const ReplayModel& model, const SegmentRange& range, RoundIndex round) {
  std::int64_t bytes = 0;
  for (const Segment& segment : model.Of(range)) {
    if (segment.first_round > round) break;
    bytes = segment.bytes;
  }
  return bytes;
}

void FindParts(const ReplayModel& model, RankSets sets, Plateau& plateau) {
  std::vector<TransferIndex> active;
  for (std::size_t t = 0; t < model.transfers.size(); ++t) {
    const ModelTransfer& transfer = model.transfers[t];
    if (BytesIn(model, transfer.bytes, plateau.begin) == 0) continue;
    active.push_back(static_cast<TransferIndex>(t));
    sets.Join(transfer.from, transfer.to);
  }
  plateau.part_of_rank.resize(model.ranks.size());
  for (RankIndex rank = 0; At(rank) < model.ranks.size(); ++rank) {
    const RankIndex first = sets.Find(rank);  // the lowest of its set
    if (first == rank) {
      plateau.part_of_rank[At(rank)] = static_cast<std::int32_t>(plateau.parts.size());
      plateau.parts.emplace_back();
    } else {
      plateau.part_of_rank[At(rank)] = plateau.part_of_rank[At(first)];
    }
    plateau.parts[At(plateau.part_of_rank[At(rank)])].ranks.push_back(rank);
  }
  for (const TransferIndex t : active) {
    const std::int32_t part = plateau.part_of_rank[At(model.transfers[At(t)].from)];
    plateau.parts[At(part)].flows.push_back(t);
  }
  for (PlateauPart& part : plateau.parts) {
    for (const RankIndex rank : part.ranks) {
      for (const Lane lane : {Lane::kPack, Lane::kUnpack}) {
        const SegmentRange& range = model.ranks[At(rank)].lanes[static_cast<int>(lane)];
        if (BytesIn(model, range, plateau.begin) > 0) {
          part.flows.push_back(model.CopyFlow(rank, lane));
        }
      }
    }
  }
}

}  // namespace

std::vector<Plateau> FindPlateaus(const ReplayModel& model, RoundIndex rounds_min) {
  std::vector<char> changes(At(model.round_count) + 1);
  for (const Segment& segment : model.segments) changes[At(segment.first_round)] = 1;
  std::vector<Plateau> plateaus;
  RoundIndex begin = 0;
  for (RoundIndex round = 1; round <= model.round_count; ++round) {
    if (changes[At(round)] == 0) continue;
    if (round - begin >= rounds_min) plateaus.push_back({begin, round, {}, {}});
    begin = round;
  }
  if (plateaus.empty()) return plateaus;
  RankSets sets(model.ranks.size());
  JoinOverSharedResources(model, sets);
  for (Plateau& plateau : plateaus) FindParts(model, sets, plateau);
  return plateaus;
}

}  // namespace reshard
