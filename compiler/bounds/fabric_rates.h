// What the fabric between NVLink domains can carry at most, where it can carry less than the NICs
// of the domains: rails that do not meet, spines and switches that are oversubscribed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/job_records.h"
#include "topology/cluster.h"

namespace reshard {

class FabricRates {
 public:
  // NICs that serve a rank of the job count, at the share the job may use; the spine and the
  // switches count with all NICs that hang on them, as the simulator has them.
  FabricRates(const JobRecords& job, const Cluster& cluster);

  // GB/s that the NICs of all other domains can send to those of `domains`, at most, and take from
  // them. Never more than the NICs of `domains` themselves.
  double Into(std::span<const DomainIndex> domains) const;
  double OutOf(std::span<const DomainIndex> domains) const;

  // A switch: what it lets into its domains, and out of them, GB/s.
  struct SwitchRate {
    std::vector<DomainIndex> domains;  // ascending
    double gbps = 0;
  };
  const std::vector<SwitchRate>& switches() const { return switches_; }

 private:
  // Sums of NICs by rail, ascending by rail index.
  std::vector<double> ByRail(std::span<const DomainIndex> domains, bool is_inside) const;
  double Between(const std::vector<double>& senders, const std::vector<double>& receivers) const;

  RailCrossing rail_crossing_;
  std::vector<std::vector<double>> domain_rails_;  // GB/s of each domain on each rail
  std::vector<double> crossing_;  // what may leave each rail, and enter it, for other rails
  std::vector<SwitchRate> switches_;
};

}  // namespace reshard
