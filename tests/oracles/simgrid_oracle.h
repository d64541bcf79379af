// SimGrid as an independent judge of max-min sharing in time. All that knows SimGrid's interface,
// which changes between versions, is in this file's source.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

struct OracleFlow {
  double start_seconds = 0;
  std::uint64_t bytes = 0;
  std::vector<int> links;  // into OracleSet::link_rates, distinct, at least one
  double cap = 0;          // bytes per second; 0: none
};

struct OracleSet {
  std::vector<double> link_rates;  // bytes per second
  std::vector<OracleFlow> flows;
};

// End of each flow of each set, in seconds; sets share nothing. May be called once a process, as
// SimGrid keeps one platform for its life. `processor_seconds`, unless null, is what its run took
// once the platform was there.
std::vector<std::vector<double>> EndsBySimGrid(std::span<const OracleSet> sets,
                                               double* processor_seconds = nullptr);

}  // namespace reshard
