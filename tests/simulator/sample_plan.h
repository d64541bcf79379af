// Small clusters and plans for the simulator's tests, with round numbers to compute by hand.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/plan.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

// `domains` domains of `gpus_per_domain` GPUs, each GPU with one NIC of 50 GB/s on rail
// (GPU within its domain), NVLink 400 GB/s, HBM 1000 GB/s, and no latencies.
Cluster SampleCluster(int domains, int gpus_per_domain);

// Costs nothing but bytes: no launch, group or batch, copies reach the datasheet's HBM rate and no
// channel binds.
Constants FreeConstants();

// Builds plans transfer by transfer; each has a column and slots of its own.
class SamplePlan {
 public:
  // One rank per GPU of `cluster`.
  explicit SamplePlan(const Cluster& cluster);

  // `bytes` (a multiple of 16 times `chunks`, a power of two) in equal chunks, in rounds
  // `first_round`, `first_round` + 1, .. Its pack slot takes part in the pack lane only if
  // `packed`; else it comes from a receive slot that nothing fills, which costs nothing.
  SamplePlan& Send(RankIndex from, RankIndex to, std::int64_t bytes, RoundIndex first_round = 0,
                   int chunks = 1, bool packed = false, bool unpacked = false);
  SamplePlan& Move(RankIndex rank, std::int64_t bytes, RoundIndex first_round = 0, int chunks = 1);
  SamplePlan& WaitFor(RankIndex rank, Lane lane, Lane on, std::int32_t lag);

  Plan plan;

 private:
  ColumnIndex AddColumn(std::int64_t bytes, int chunks);
};

}  // namespace reshard
