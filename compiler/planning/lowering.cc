#include "compiler/planning/lowering.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace reshard {
namespace {

// A column whose chunks would be smaller than this goes in one chunk, in one of the rounds.
constexpr std::int64_t kMinChunkBytes = std::int64_t{4} << 10;
// Two instances of every slot: one is filled while the other is read.
constexpr std::int32_t kSlotDepth = 2;
// Where a ceiling is given, a column goes in one chunk only if that is well below it.
constexpr std::int64_t kSmallPerCeiling = 16;
// Columns of one chunk are spread over this many times the rounds their bytes would fill.
constexpr double kSmallRounds = 8;

class Lowering {
 public:
  Lowering(const Deliveries& deliveries, const Routes& routes, const Phases& phases,
           const TransferLinks& links, const std::vector<RoundShape>& shapes, Plan& plan)
      : deliveries_(deliveries),
        routes_(routes),
        phases_(phases),
        hops_(links.hops),
        links_(links.links),
        areas_(links.areas),
        pack_lag_(links.pack_lag),
        shift_(links.shift),
        shapes_(shapes),
        plan_(plan) {}

  LoweringSummary Run() {
    plan_.profiles.clear();
    plan_.columns.clear();
    plan_.transfers.clear();
    plan_.schedules.assign(plan_.job.ranks.size(), {});
    plan_.round_count = 0;
    last_staging_.assign(plan_.job.ranks.size(), 0);
    earlier_staging_.assign(plan_.job.ranks.size(), 0);
    StartPhases();
    MakeColumns();
    MakeReceiveSlots();
    MakeTransfers();
    MakeLocalMoves();
    MakeWaits();
    CountRounds();
    return summary_;
  }

 private:
  std::int32_t PhaseOf(std::int32_t column) const {
    return reshard::PhaseOf(routes_.columns[static_cast<std::size_t>(column)], phases_);
  }

  std::size_t Area(RankIndex rank, std::int32_t phase) const {
    return ReceiveArea(rank, phase, phases_);
  }

  // Turns are many short phases: their slots would each take memory that is idle most of the time,
  // so that what a rank receives, or packs, in one turn lies where it did in the turns before.
  bool SharesSlots() const { return phases_.bytes.size() >= kManyPhases; }

  // A phase begins when the network rounds of the one before are over, or later, so that no two
  // phases have a transfer between the same two ranks in one round.
  void StartPhases() {
    const auto packs_ahead = std::ranges::find(pack_lag_, 1) != pack_lag_.end();
    RoundIndex start = packs_ahead ? 1 : 0;  // round 0 then packs only
    std::map<std::pair<RankIndex, RankIndex>, RoundIndex> busy_until;
    for (std::size_t p = 0; p < phases_.bytes.size(); ++p) {
      const RoundIndex rounds = shapes_[p].rounds();
      std::map<std::pair<RankIndex, RankIndex>, std::pair<RoundIndex, RoundIndex>> windows;
      for (const Link& link : links_) {
        if (link.phase != static_cast<std::int32_t>(p)) continue;
        auto& [first, last] =
            windows.try_emplace({link.from, link.to}, std::pair{RoundIndex{1 << 30}, 0})
                .first->second;
        first = std::min(first, link.first_round);
        last = std::max(last, link.last_round + rounds);
      }
      for (const auto& [ranks, window] : windows) {
        const auto busy = busy_until.find(ranks);
        if (busy != busy_until.end()) start = std::max(start, busy->second - window.first);
      }
      for (const auto& [ranks, window] : windows) busy_until[ranks] = start + window.second;
      phase_start_.push_back(start);
      start += rounds;
    }
  }

  // The profile of phase `phase` less its first `shift` rounds: a column whose network hop comes
  // late then fills the network rounds that are left like all others do.
  ProfileIndex ProfileFor(std::int32_t phase, RoundIndex shift) {
    const auto [at, fresh] =
        profile_of_.try_emplace({phase, shift}, static_cast<ProfileIndex>(plan_.profiles.size()));
    if (!fresh) return at->second;
    std::vector<std::uint32_t> weights = shapes_[static_cast<std::size_t>(phase)].Weights();
    const auto skipped = std::min<std::size_t>(static_cast<std::size_t>(shift), weights.size() - 1);
    weights.erase(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(skipped));
    double sum = 0;
    for (const std::uint32_t weight : weights) sum += weight;
    for (std::uint32_t& weight : weights) {
      weight = static_cast<std::uint32_t>(static_cast<double>(weight) / sum * 4294967295.0);
    }
    plan_.profiles.push_back({std::move(weights)});
    return at->second;
  }

  bool IsSmall(std::size_t c) const {
    const RoutedColumn& column = routes_.columns[c];
    const auto p = static_cast<std::size_t>(PhaseOf(static_cast<std::int32_t>(c)));
    const RoundIndex rounds = shapes_[p].rounds() - shift_[c];
    const std::int64_t bytes = column.end - column.begin;
    const std::int64_t ceiling = plan_.job.options.chunk_bytes;
    return rounds > 1 && bytes / rounds < kMinChunkBytes &&
           (ceiling == 0 || bytes <= ceiling / kSmallPerCeiling);
  }

  // Per phase, the share of its bytes that lies in small columns.
  std::vector<double> SmallShares() const {
    std::vector<double> small(phases_.bytes.size(), 0);
    std::vector<double> all(phases_.bytes.size(), 0);
    for (std::size_t c = 0; c < routes_.columns.size(); ++c) {
      const RoutedColumn& column = routes_.columns[c];
      const auto p = static_cast<std::size_t>(PhaseOf(static_cast<std::int32_t>(c)));
      all[p] += static_cast<double>(column.end - column.begin);
      if (IsSmall(c)) small[p] += static_cast<double>(column.end - column.begin);
    }
    for (std::size_t p = 0; p < small.size(); ++p) small[p] /= std::max(1.0, all[p]);
    return small;
  }

  // Small columns go in the first rounds, so that all later ones are alike, and in as many as keep
  // those from growing much.
  void MakeColumns() {
    column_start_.resize(routes_.columns.size());
    std::vector<std::int32_t> small_of_phase(phases_.bytes.size(), 0);
    const std::vector<double> small_shares = SmallShares();
    for (std::size_t c = 0; c < routes_.columns.size(); ++c) {
      const RoutedColumn& column = routes_.columns[c];
      const std::int32_t phase = PhaseOf(static_cast<std::int32_t>(c));
      const auto p = static_cast<std::size_t>(phase);
      RoundIndex start = phase_start_[p];
      ProfileIndex profile = 0;
      if (IsSmall(c)) {
        profile = ProfileFor(phase, shapes_[p].rounds() - 1);
        const double share = small_shares[p] * shapes_[p].full * kSmallRounds;
        start += small_of_phase[p]++ % std::clamp(static_cast<RoundIndex>(share), 1,
                                                  std::max(1, shapes_[p].full - shift_[c]));
      } else {
        profile = ProfileFor(phase, shift_[c]);
      }
      column_start_[c] = start;
      plan_.columns.push_back({column.demand_class, profile, column.begin, column.end});
      largest_chunk_.push_back(LargestChunk(plan_.columns.back()));
    }
  }

  std::int64_t LargestChunk(const Column& column) const {
    const Profile& profile = plan_.profiles[static_cast<std::size_t>(column.profile)];
    const auto largest = std::ranges::max_element(profile.weights) - profile.weights.begin();
    const auto last = static_cast<std::int64_t>(profile.weights.size()) - 1;
    return AlignedBytes(
        std::max(ChunkBytes(column, profile, largest), ChunkBytes(column, profile, last)));
  }

  RoundIndex RoundOf(const Hop& hop) const {
    return column_start_[static_cast<std::size_t>(hop.column)] + hop.round;
  }

  // Whether `rank` is one the group's columns are delivered to. A rank that only passes them on may
  // need the same bytes and have them from elsewhere.
  bool Receives(RankIndex rank, std::size_t group) const {
    const std::vector<GroupDomain>& domains = deliveries_.groups[group].domains;
    const auto at = std::ranges::lower_bound(
        domains, plan_.job.ranks[static_cast<std::size_t>(rank)].domain, {}, &GroupDomain::domain);
    return at != domains.end() && std::ranges::binary_search(at->receivers, rank);
  }

  SlotIndex AddSlot(RankIndex rank, std::int32_t phase, Slot slot) {
    RankSchedule& schedule = plan_.schedules[static_cast<std::size_t>(rank)];
    slot.offset = schedule.slots.empty()
                      ? 0
                      : schedule.slots.back().offset +
                            schedule.slots.back().capacity * schedule.slots.back().depth;
    slot.depth = kSlotDepth;
    slot.capacity = Capacity(slot);
    const bool last = static_cast<std::size_t>(phase) + 1 == phases_.bytes.size();
    std::int64_t& staging =
        (last ? last_staging_ : earlier_staging_)[static_cast<std::size_t>(rank)];
    std::int64_t& most = last ? summary_.last_phase_staging_bytes : summary_.earlier_staging_bytes;
    staging += slot.capacity * slot.depth;
    most = std::max(most, staging);
    schedule.slots.push_back(std::move(slot));
    return static_cast<SlotIndex>(schedule.slots.size()) - 1;
  }

  // Room for the fullest round of items that come and go, every one at its largest.
  std::int64_t SharedCapacity(const Slot& slot) const {
    std::map<RoundIndex, std::int64_t> changes;
    for (const SlotItem& item : slot.items) {
      const Column& column = plan_.columns[static_cast<std::size_t>(item.column)];
      const std::int64_t largest = largest_chunk_[static_cast<std::size_t>(item.column)];
      const Profile& profile = plan_.profiles[static_cast<std::size_t>(column.profile)];
      changes[item.first_round] += largest;
      changes[item.first_round + static_cast<RoundIndex>(profile.weights.size())] -= largest;
    }
    std::int64_t content = 0;
    std::int64_t fullest = 0;
    for (const auto& [round, bytes] : changes) fullest = std::max(fullest, content += bytes);
    return fullest;
  }

  // Room for the fullest round: every chunked item at its largest, and of the items of one chunk
  // those that share a round.
  std::int64_t Capacity(const Slot& slot) const {
    if (SharesSlots()) return SharedCapacity(slot);
    std::int64_t chunked = 0;
    std::map<RoundIndex, std::int64_t> whole;
    for (const SlotItem& item : slot.items) {
      const Column& column = plan_.columns[static_cast<std::size_t>(item.column)];
      const std::int64_t largest = largest_chunk_[static_cast<std::size_t>(item.column)];
      if (plan_.profiles[static_cast<std::size_t>(column.profile)].weights.size() == 1) {
        whole[item.first_round] += largest;
      } else {
        chunked += largest;
      }
    }
    std::int64_t fullest = 0;
    for (const auto& [round, bytes] : whole) fullest = std::max(fullest, bytes);
    return chunked + fullest;
  }

  void MakeReceiveSlots() {
    receive_run_.assign(areas_.size(), {});
    struct Answer {
      RankIndex rank = -1;
      bool receives = false;
    };
    std::vector<Answer> of_group(deliveries_.groups.size());
    Slot slot;
    slot.kind = SlotKind::kReceive;
    for (std::size_t a = 0; a < areas_.size(); ++a) {
      const auto rank = static_cast<RankIndex>(a / phases_.bytes.size());
      const std::size_t phase = a % phases_.bytes.size();
      receive_run_[a].first_item = static_cast<std::int32_t>(slot.items.size());
      for (const std::int32_t l : areas_[a]) {
        for (const std::int64_t h : links_[static_cast<std::size_t>(l)].hops) {
          const Hop& hop = hops_[static_cast<std::size_t>(h)];
          SlotItem item;
          item.column = hop.column;
          item.first_round = RoundOf(hop);
          const RoutedColumn& column = routes_.columns[static_cast<std::size_t>(hop.column)];
          for (const std::int32_t group : {column.group, column.local_group}) {
            if (group == kNoLocalGroup) continue;
            const auto g = static_cast<std::size_t>(group);
            if (of_group[g].rank != rank) of_group[g] = {rank, Receives(rank, g)};
            item.unpack = item.unpack || of_group[g].receives;
          }
          slot.items.push_back(item);
        }
      }
      if (slot.items.empty() || (SharesSlots() && phase + 1 < phases_.bytes.size())) continue;
      const SlotIndex index = AddSlot(rank, static_cast<std::int32_t>(phase), slot);
      const std::size_t first = SharesSlots() ? a - phase : a;
      for (std::size_t k = first; k <= a; ++k) receive_run_[k].slot = index;
      slot.items.clear();
    }
  }

  // Where `count` items of what the rank receives in the phase lie, from its `item`th on.
  SlotRun ReceivedRun(RankIndex rank, std::int32_t phase, std::int32_t item,
                      std::int32_t count) const {
    const SlotRun& run = receive_run_[Area(rank, phase)];
    return {run.slot, run.first_item + item, count};
  }

  std::vector<SlotItem> PackItems(const Link& link) const {
    std::vector<SlotItem> items;
    const std::int32_t lag = pack_lag_[static_cast<std::size_t>(link.from)];
    for (const std::int64_t h : link.hops) {
      const Hop& hop = hops_[static_cast<std::size_t>(h)];
      SlotItem item;
      item.column = hop.column;
      item.first_round = RoundOf(hop) - lag;
      if (hop.parent >= 0) {
        const SlotRun origin =
            ReceivedRun(link.from, link.phase, hops_[static_cast<std::size_t>(hop.parent)].item, 1);
        item.origin_slot = origin.slot;
        item.origin_item = origin.first_item;
      }
      items.push_back(item);
    }
    return items;
  }

  // Items that one link of a rank, or several, send, and where in the rank's pack slots.
  struct Packed {
    std::vector<SlotItem> items;
    std::size_t bin = 0;
    std::int32_t first_item = 0;
  };
  // A pack slot to be.
  struct PackBin {
    Slot slot;
    SlotIndex index = -1;
  };

  // Links of one rank that pack the same share it.
  void PlanPacking() {
    packed_of_link_.assign(links_.size(), {});
    for (std::size_t l = 0; l < links_.size(); ++l) {
      const Link& link = links_[l];
      if (!link.packed) continue;
      std::vector<Packed>& known = packed_of_rank_[link.from];
      std::vector<SlotItem> items = PackItems(link);
      const auto same = std::ranges::find(known, items, &Packed::items);
      packed_of_link_[l] = static_cast<std::size_t>(same - known.begin());
      if (same != known.end()) continue;
      std::vector<PackBin>& bins = bins_of_rank_[link.from];
      const std::size_t bin = SharesSlots() ? 0 : bins.size();
      if (bin == bins.size()) bins.emplace_back();
      std::vector<SlotItem>& together = bins[bin].slot.items;
      bins[bin].slot.kind = SlotKind::kPack;
      known.push_back({std::move(items), bin, static_cast<std::int32_t>(together.size())});
      together.insert(together.end(), known.back().items.begin(), known.back().items.end());
    }
  }

  // The run of link `l` in its pack slot.
  SlotRun PackRun(std::size_t l) {
    const Link& link = links_[l];
    const Packed& packed = packed_of_rank_[link.from][packed_of_link_[l]];
    PackBin& bin = bins_of_rank_[link.from][packed.bin];
    if (bin.index < 0) bin.index = AddSlot(link.from, link.phase, std::move(bin.slot));
    return {bin.index, packed.first_item, static_cast<std::int32_t>(packed.items.size())};
  }

  void MakeTransfers() {
    PlanPacking();
    for (std::size_t l = 0; l < links_.size(); ++l) {
      const Link& link = links_[l];
      Transfer transfer;
      transfer.from = link.from;
      transfer.to = link.to;
      const auto count = static_cast<std::int32_t>(link.hops.size());
      const Hop& first = hops_[static_cast<std::size_t>(link.hops[0])];
      transfer.destination = ReceivedRun(link.to, link.phase, first.item, count);
      if (link.packed) {
        transfer.lag = pack_lag_[static_cast<std::size_t>(link.from)];
        transfer.source = PackRun(l);
      } else {
        const Hop& parent = hops_[static_cast<std::size_t>(first.parent)];
        transfer.lag = 1;
        transfer.source = ReceivedRun(link.from, link.phase, parent.item, count);
      }
      plan_.transfers.push_back(transfer);
    }
    // Links are in order of (from, to, phase), and phases in order of rounds.
  }

  void MakeLocalMoves() {
    std::map<ClassIndex, ColumnIndex> column_of;
    const auto last_phase = static_cast<std::int32_t>(shapes_.size()) - 1;
    for (const Deliveries::LocalCopy& copy : deliveries_.local_copies) {
      const auto [at, fresh] =
          column_of.try_emplace(copy.demand_class, static_cast<ColumnIndex>(plan_.columns.size()));
      const std::int64_t bytes =
          plan_.demand.classes[static_cast<std::size_t>(copy.demand_class)].bytes;
      if (fresh) {
        const RoundIndex rounds = shapes_.back().rounds();
        const bool small = bytes / rounds < kMinChunkBytes;
        plan_.columns.push_back(
            {copy.demand_class, ProfileFor(last_phase, small ? rounds - 1 : 0), 0, bytes});
      }
      plan_.schedules[static_cast<std::size_t>(copy.rank)].local_moves.push_back(
          {at->second, phase_start_.empty() ? 0 : phase_start_.back()});
    }
  }

  void MakeWaits() {
    for (std::size_t r = 0; r < plan_.schedules.size(); ++r) {
      RankSchedule& schedule = plan_.schedules[r];
      const bool packs = std::ranges::any_of(
          schedule.slots, [](const Slot& slot) { return slot.kind == SlotKind::kPack; });
      const bool unpacks = std::ranges::any_of(schedule.slots, [](const Slot& slot) {
        return std::ranges::any_of(slot.items, [](const SlotItem& item) { return item.unpack; });
      });
      if (packs) {
        const std::int32_t lag = pack_lag_[r];
        schedule.waits.push_back({Lane::kExchange, Lane::kPack, lag});
        schedule.waits.push_back({Lane::kPack, Lane::kExchange, kSlotDepth - lag});
      }
      if (unpacks) {
        schedule.waits.push_back({Lane::kUnpack, Lane::kExchange, 0});
        schedule.waits.push_back({Lane::kExchange, Lane::kUnpack, kSlotDepth});
      }
    }
  }

  void CountRounds() {
    const auto extend = [this](ColumnIndex c, RoundIndex first_round) {
      const Column& column = plan_.columns[static_cast<std::size_t>(c)];
      const Profile& profile = plan_.profiles[static_cast<std::size_t>(column.profile)];
      plan_.round_count = std::max(plan_.round_count,
                                   first_round + static_cast<RoundIndex>(profile.weights.size()));
    };
    for (const RankSchedule& schedule : plan_.schedules) {
      for (const Slot& slot : schedule.slots) {
        for (const SlotItem& item : slot.items) extend(item.column, item.first_round);
      }
      for (const LocalMove& move : schedule.local_moves) extend(move.column, move.first_round);
    }
  }

  const Deliveries& deliveries_;
  const Routes& routes_;
  const Phases& phases_;
  const std::vector<Hop>& hops_;
  const std::vector<Link>& links_;
  const std::vector<std::vector<std::int32_t>>& areas_;
  const std::vector<std::int32_t>& pack_lag_;
  const std::vector<RoundIndex>& shift_;
  const std::vector<RoundShape>& shapes_;
  Plan& plan_;
  LoweringSummary summary_;
  std::vector<std::int64_t> last_staging_, earlier_staging_;  // per rank
  std::vector<RoundIndex> phase_start_;
  std::vector<RoundIndex> column_start_;
  std::vector<std::int64_t> largest_chunk_;  // per column
  std::map<std::pair<std::int32_t, RoundIndex>, ProfileIndex> profile_of_;
  std::vector<SlotRun> receive_run_;  // per rank and phase: its slot, and where it begins there
  std::vector<std::size_t> packed_of_link_;  // per link that packs, among those of its rank
  std::map<RankIndex, std::vector<Packed>> packed_of_rank_;
  std::map<RankIndex, std::vector<PackBin>> bins_of_rank_;
};

}  // namespace

LoweringSummary LowerRoutes(const Deliveries& deliveries, const Routes& routes,
                            const Phases& phases, const TransferLinks& links,
                            const std::vector<RoundShape>& shapes, Plan& plan) {
  return Lowering(deliveries, routes, phases, links, shapes, plan).Run();
}

std::int64_t StagingBytesMax(const Plan& plan) {
  std::int64_t most = 0;
  for (const RankSchedule& schedule : plan.schedules) {
    if (schedule.slots.empty()) continue;
    const Slot& last = schedule.slots.back();
    most = std::max(most, last.offset + last.capacity * last.depth);
  }
  return most;
}

}  // namespace reshard
