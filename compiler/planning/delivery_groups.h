// Demand, seen as deliveries: which ranks must receive a class, and whether its bytes must cross
// between domains to reach them.
//
// A class whose needers sit in a domain that also has a holder is served inside that domain over
// NVLink: a local group. Its other needers form a network group. All classes with the same
// receivers share a group, whoever holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "schedules/copy_program.h"
#include "schedules/demand.h"

namespace reshard {

struct GroupClass {
  ClassIndex demand_class = 0;
  std::vector<RankIndex> holders;  // who may send it to this group, ascending
};

// The receivers of one domain.
struct GroupDomain {
  DomainIndex domain = 0;
  std::vector<RankIndex> receivers;  // ascending
};

struct DeliveryGroup {
  bool local = false;
  std::vector<GroupDomain> domains;  // ascending by domain; one if local
  std::vector<GroupClass> classes;   // ascending
  std::int64_t bytes = 0;            // of all its classes, each once

  std::vector<RankIndex> Receivers() const;  // ascending

  // What a holder should send of it, and a domain take in first, if anything: as little as that
  // its receivers together are handed no more than some millions of parts. Without it the parts of
  // a group that all ranks need, and with them the plan, would grow with the square of the ranks;
  // narrower groups make up for what it leaves uneven.
  std::int64_t LeastPartBytes() const;
};

struct Deliveries {
  std::vector<DeliveryGroup> groups;
  // Classes copied from a rank's own source parameters to its destination parameters.
  struct LocalCopy {
    RankIndex rank = 0;
    ClassIndex demand_class = 0;
  };
  std::vector<LocalCopy> local_copies;
};

// Network classes of one group whose senders stand in the same domains: they can go the same ways.
struct GroupTraffic {
  std::size_t group = 0;
  std::vector<DomainIndex> holders;  // those with NICs, ascending
  std::vector<std::size_t> classes;  // positions in the group
  std::int64_t bytes = 0;            // > 0, each once
};

// All that crosses the network, by group and then by holders.
std::vector<GroupTraffic> FindGroupTraffic(const Deliveries& deliveries, const Demand& demand,
                                           const RankResources& resources);

// `programs` tell which classes already lie in place on a rank (JobRecords::in_place).
Deliveries FindDeliveries(const JobRecords& job, const Demand& demand,
                          const std::vector<CopyProgram>& programs, const RankResources& resources);

}  // namespace reshard
