// The paths bytes take: columns (byte ranges of classes) and, for each, the tree from its holder to
// every receiver.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/senders.h"

namespace reshard {

// One hop of a path; `parent` is the hop that brought the bytes to `from`, or kFromSender.
struct PathHop {
  RankIndex from = 0;  // ignored if parent == kFromSender: the column's exit
  RankIndex to = 0;
  std::int32_t parent = 0;
};
inline constexpr std::int32_t kFromSender = -1;

// Parents stand before their children. Shared by all columns that differ in their sender only.
struct DeliveryPath {
  std::vector<PathHop> hops;
};

inline constexpr std::int32_t kNoLocalGroup = -1;

struct RoutedColumn {
  ClassIndex demand_class = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  RankIndex holder = 0;
  RankIndex exit = 0;
  std::int32_t path = 0;
  std::int32_t group = 0;  // of Deliveries::groups
  std::int32_t turn =
      0;  // its phase is that of its group and so many more (compiler/planning/turns.h)
  // Of Deliveries::groups: the local one whose bytes these are, too, and of which the exit is a
  // receiver (compiler/planning/shared_exits.h), or kNoLocalGroup.
  std::int32_t local_group = kNoLocalGroup;
};

struct Routes {
  std::vector<DeliveryPath> paths;
  // In an order in which what one rank forwards to one peer lies together: by group, then by path,
  // then by sender.
  std::vector<RoutedColumn> columns;
};

// Heads (compiler/planning/heads.h), relays and fan-out. Two-level trees over domains: each byte
// enters one receiving domain from its sender and is passed on by its head to the heads of the
// others; a group is dealt out over its domains such that the NICs of those that relay are level.
// Star pieces go from their sender to a head in each domain; helpers take in what `domains` leaves
// to them. With `exits` kShared, those that lack what they pass on keep it
// (compiler/planning/shared_exits.h). Inside a domain each sender serves every receiver where it
// has no more of them than there are senders; with kFromReceivers never: the receivers pass on what
// one of them got, which evens out what holders send.
enum class Exits { kShared, kApart };
enum class LocalFanOut { kFromFew, kFromReceivers };
Routes MakeRoutes(const Deliveries& deliveries, const std::vector<std::vector<Piece>>& pieces,
                  const RankResources& resources, double bound_seconds,
                  const DomainAssignment* domains = nullptr, Exits exits = Exits::kShared,
                  LocalFanOut fan_out = LocalFanOut::kFromFew);

}  // namespace reshard
