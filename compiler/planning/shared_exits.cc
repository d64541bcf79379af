#include "compiler/planning/shared_exits.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "schedules/plan.h"

namespace reshard {
namespace {

// Bytes of less are not worth cutting a column for.
constexpr std::int64_t kLeastShared = std::int64_t{64} << 10;

class ExitSharing {
 public:
  ExitSharing(const Deliveries& deliveries, const RankResources& resources, Routes& routes)
      : deliveries_(deliveries), resources_(resources), routes_(routes) {}

  void Run() {
    for (RoutedColumn& column : routes_.columns) {
      if (column.exit == column.holder || column.end - column.begin < kLeastShared) continue;
      if (local_groups_.empty()) FindLocalGroups();
      Share(column);
    }
    if (!shared_.empty()) CutLocalColumns();
  }

 private:
  void FindLocalGroups() {
    for (std::size_t g = 0; g < deliveries_.groups.size(); ++g) {
      const DeliveryGroup& group = deliveries_.groups[g];
      if (!group.local) continue;
      for (const GroupClass& c : group.classes) {
        local_groups_[{c.demand_class, group.domains[0].domain}] = static_cast<std::int32_t>(g);
      }
    }
    local_groups_.try_emplace({-1, -1}, -1);  // so that it is looked for once
  }

  void Share(RoutedColumn& column) {
    const DomainIndex domain = resources_.domain[static_cast<std::size_t>(column.exit)];
    const auto found = local_groups_.find({column.demand_class, domain});
    if (found == local_groups_.end()) return;
    const std::vector<RankIndex>& receivers =
        deliveries_.groups[static_cast<std::size_t>(found->second)].domains[0].receivers;
    if (!std::ranges::binary_search(receivers, column.exit)) return;
    column.local_group = found->second;
    const auto [at, fresh] = path_of_.try_emplace({column.path, {column.local_group, column.exit}},
                                                  static_cast<std::int32_t>(routes_.paths.size()));
    if (fresh) {
      DeliveryPath path = routes_.paths[static_cast<std::size_t>(column.path)];
      for (const RankIndex receiver : receivers) {
        if (receiver != column.exit) path.hops.push_back({0, receiver, kFromSender});
      }
      routes_.paths.push_back(std::move(path));
    }
    column.path = at->second;
    shared_[{column.local_group, column.demand_class}].push_back({column.begin, column.end});
  }

  // Takes what exits bring off the columns of local groups.
  void CutLocalColumns() {
    for (auto& [of, ranges] : shared_) std::ranges::sort(ranges, {}, &ByteRange::begin);
    std::vector<RoutedColumn> kept;
    kept.reserve(routes_.columns.size());
    for (const RoutedColumn& column : routes_.columns) {
      const auto shared = shared_.find({column.group, column.demand_class});
      if (shared == shared_.end()) {
        kept.push_back(column);
        continue;
      }
      RoutedColumn rest = column;
      for (const ByteRange& range : shared->second) {
        if (range.end <= rest.begin || range.begin >= column.end) continue;
        if (range.begin > rest.begin) {
          kept.push_back(rest);
          kept.back().end = range.begin;
        }
        rest.begin = std::min(column.end, range.end);
      }
      if (rest.begin < column.end) kept.push_back(rest);
    }
    routes_.columns = std::move(kept);
  }

  const Deliveries& deliveries_;
  const RankResources& resources_;
  Routes& routes_;
  std::map<std::pair<ClassIndex, DomainIndex>, std::int32_t> local_groups_;
  std::map<std::pair<std::int32_t, std::pair<std::int32_t, RankIndex>>, std::int32_t> path_of_;
  // Per local group and class, what exits bring.
  std::map<std::pair<std::int32_t, ClassIndex>, std::vector<ByteRange>> shared_;
};

}  // namespace

void ShareExits(const Deliveries& deliveries, const RankResources& resources, Routes& routes) {
  ExitSharing(deliveries, resources, routes).Run();
}

}  // namespace reshard
