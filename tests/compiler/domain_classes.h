// Demand as the flow oracles see it: classes of equal domains act as one.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "schedules/demand.h"
#include "topology/cluster.h"

namespace reshard {

using DomainSet = std::set<DomainIndex>;

struct DomainClasses {
  // Bytes by (domains with a holder, domains with a needer and without a holder); none that enter
  // no domain.
  std::map<std::pair<DomainSet, DomainSet>, double> bytes;
  double total_bytes = 0;
};

inline DomainClasses MakeDomainClasses(const JobRecords& job, const Demand& demand) {
  DomainClasses classes;
  for (const DemandClass& c : demand.classes) {
    DomainSet holders;
    DomainSet entered;
    for (const RankIndex h : demand.Holders(c)) {
      holders.insert(job.ranks[static_cast<std::size_t>(h)].domain);
    }
    for (const RankIndex n : demand.Needers(c)) {
      const DomainIndex d = job.ranks[static_cast<std::size_t>(n)].domain;
      if (!holders.contains(d)) entered.insert(d);
    }
    if (entered.empty()) continue;
    classes.bytes[{holders, entered}] += static_cast<double>(c.bytes);
    classes.total_bytes += static_cast<double>(c.bytes);
  }
  return classes;
}

}  // namespace reshard
