// Who sends which bytes: every class of a group is dealt out over its holders, and where a domain's
// NICs bind, over the exits its holders pass bytes to over NVLink.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"

namespace reshard {

// Bytes [begin, end) of a class, read by `holder`, sent out of the domain by `exit` (itself,
// mostly).
struct Piece {
  ClassIndex demand_class = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  RankIndex holder = 0;
  RankIndex exit = 0;
  // The sender serves every receiving domain itself; else one, which passes it on.
  bool star = false;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Piece&) const = default;
};

// Result[g]: the pieces of group g, together each byte of its classes once, ordered by exit, so
// that what one NIC sends lies together; star pieces come last.
//
// `bound_seconds` is the lower bound of the refit: bytes take an exit hop only in a domain whose
// fullest NIC would else be busy for nearly that long. `domains` fixes what each domain sends;
// without it the classes are dealt out such that NICs are level.
// An exit takes its share of every group, or (kOfAll) its share of all groups together: flows are
// then fewer and less equal, and what a head has to pass on lies together more often.
enum class ExitShares { kOfEach, kOfAll };
std::vector<std::vector<Piece>> AssignSenders(const Demand& demand, const Deliveries& deliveries,
                                              const RankResources& resources, double bound_seconds,
                                              const DomainAssignment* domains = nullptr,
                                              ExitShares shares = ExitShares::kOfEach);

// The same pieces, but those of which their exits can send a copy to each receiving domain within
// `bound_seconds` are star pieces: nobody has to pass them on, which saves a hop.
std::vector<std::vector<Piece>> SentDirectly(std::vector<std::vector<Piece>> pieces,
                                             const Deliveries& deliveries,
                                             const RankResources& resources, double bound_seconds);

// The same bytes in another order: what an exit sends of a group goes into `stripes` parts, and all
// exits' first parts stand before all second ones. A head, which takes in a stretch of the line,
// then hears from about `stripes` exits, and an exit sends to as many heads, at once.
std::vector<std::vector<Piece>> Striped(const std::vector<std::vector<Piece>>& pieces,
                                        std::int64_t stripes);

}  // namespace reshard
