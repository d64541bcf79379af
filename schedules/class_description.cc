#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "schedules/description.h"

namespace reshard {
namespace {

std::vector<TensorIndex> TensorsOf(const Plan& plan, const DemandClass& demand_class) {
  std::vector<TensorIndex> tensors;
  for (std::int64_t i = 0; i < demand_class.fragment_count; ++i) {
    tensors.push_back(plan.demand.fragments[demand_class.first_fragment + i].tensor);
  }
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

}  // namespace

ClassDescription DescribeClass(const Plan& plan, ClassIndex demand_class) {
  const DemandClass& record = plan.demand.classes[static_cast<std::size_t>(demand_class)];
  const auto holders = plan.demand.Holders(record);
  const auto needers = plan.demand.Needers(record);
  ClassDescription description{demand_class,
                               record.bytes,
                               record.fragment_count,
                               {holders.begin(), holders.end()},
                               {needers.begin(), needers.end()},
                               TensorsOf(plan, record),
                               {}};
  std::map<ColumnIndex, std::size_t> place;  // of a column in the description
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const Column& column = plan.columns[i];
    if (column.demand_class != demand_class) continue;
    place.emplace(static_cast<ColumnIndex>(i), description.columns.size());
    const Profile& profile = plan.profiles[static_cast<std::size_t>(column.profile)];
    description.columns.push_back({static_cast<ColumnIndex>(i),
                                   {column.begin, column.end},
                                   static_cast<std::int64_t>(profile.weights.size()),
                                   {},
                                   {}});
  }
  for (const Transfer& transfer : plan.transfers) {
    const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.to)]
                           .slots[static_cast<std::size_t>(transfer.destination.slot)];
    const bool is_same_domain = plan.job.ranks[static_cast<std::size_t>(transfer.from)].domain ==
                                plan.job.ranks[static_cast<std::size_t>(transfer.to)].domain;
    for (std::int32_t k = 0; k < transfer.destination.item_count; ++k) {
      const SlotItem& item =
          slot.items[static_cast<std::size_t>(transfer.destination.first_item + k)];
      const auto found = place.find(item.column);
      if (found == place.end()) continue;
      description.columns[found->second].hops.push_back(
          {transfer.from, transfer.to, is_same_domain, item.first_round});
    }
  }
  for (std::size_t rank = 0; rank < plan.schedules.size(); ++rank) {
    for (const LocalMove& move : plan.schedules[rank].local_moves) {
      const auto found = place.find(move.column);
      if (found == place.end()) continue;
      description.columns[found->second].local_moves.push_back(static_cast<RankIndex>(rank));
    }
  }
  for (ColumnDescription& column : description.columns) {
    std::sort(column.hops.begin(), column.hops.end(),
              [](const HopDescription& a, const HopDescription& b) {
                return std::tuple(a.first_round, a.from, a.to) <
                       std::tuple(b.first_round, b.from, b.to);
              });
  }
  return description;
}

}  // namespace reshard
