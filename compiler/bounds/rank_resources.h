// The machine as the ranks of a job see it: only NICs and NVLinks that a rank can use, at the share
// the job may take. Rates are GB/s each way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "schedules/job_records.h"
#include "topology/cluster.h"

namespace reshard {

struct DomainResources {
  std::vector<RankIndex> ranks;  // ascending
  double network_gbps = 0;       // sum of its NICs that serve a rank
  std::int64_t nic_count = 0;    // of them, at work
};

struct RankResources {
  std::vector<double> nvlink_gbps;   // per rank
  std::vector<double> network_gbps;  // per rank: its NICs, a shared one divided among its ranks
  std::vector<double> network_peak_gbps;  // per rank: its NICs, shared ones in full
  // Per rank: as which its NICs count where bytes are first dealt out, if not as they are (then it
  // is empty): compiler/planning/alike_nics.h.
  std::vector<double> dealt_gbps;
  std::vector<DomainIndex> domain;  // per rank
  std::vector<std::int32_t> rail;   // per rank: of its first NIC, -1 without
  bool rails_meet = true;  // bytes may cross between rails for nothing (RailCrossing::kFull)
  std::vector<DomainResources> domains;  // per domain of the cluster; empty where no rank is

  const std::vector<double>& DealtGbps() const {
    return dealt_gbps.empty() ? network_gbps : dealt_gbps;
  }
  // What ranks beside it may leave to a rank's NICs: no more than they are dealt as, nor than they
  // are; and to those of a domain together.
  double CountedGbps(RankIndex rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return std::min(DealtGbps()[r], network_gbps[r]);
  }
  double CountedGbps(const DomainResources& of) const {
    if (dealt_gbps.empty()) return of.network_gbps;
    double sum = 0;
    for (const RankIndex rank : of.ranks) sum += CountedGbps(rank);
    return sum;
  }
  bool HasNvlink(RankIndex rank) const { return nvlink_gbps[static_cast<std::size_t>(rank)] > 0; }
  bool HasNic(RankIndex rank) const { return network_gbps[static_cast<std::size_t>(rank)] > 0; }
};

inline constexpr double kBytesPerGB = 1e9;

// Fails where a rank names a GPU the cluster lacks.
Result<RankResources> MakeRankResources(const JobRecords& job, const Cluster& cluster);

}  // namespace reshard
