// Small jobs of every kind, from a seed: meshes, replication, uneven and empty shards, any number
// of dims, fused, transposed, padded and doubled parameters, several groups a side, sides that are
// disjoint, overlap or coincide, domains with own, shared, unequal, dead and missing NICs.
#pragma once

#include <cstdint>

#include "schedules/job_records.h"
#include "tests/compiler/random_draws.h"
#include "topology/cluster.h"

namespace reshard {

struct RandomJob {
  Cluster cluster;
  JobRecords job;
};

struct RandomJobLimits {
  std::int64_t ranks = 10;
  std::int64_t extent = 7;  // of a dim
  std::int64_t tensors = 5;
  // Percent of tensors whose last dim is that much longer, so that pieces, heads and chunks get
  // past the sizes below which they are not split. Memory is shared only where tensors are small.
  std::int64_t long_tensors = 0;
  std::int64_t long_factor = 1000;
  bool plain_machine = false;  // every GPU has NVLink and one NIC of its own, all alike
  // Percent of GPUs whose NVLink is dead: such a job can be impossible, too.
  std::int64_t dead_nvlinks = 0;
  // Parameters may share memory though the destination wants other bytes there than the source has:
  // such a job can be impossible.
  bool conflicting_memory = false;
};

// Every needed byte has a holder.
RandomJob MakeRandomJob(std::uint64_t seed, const RandomJobLimits& limits = {});

// Gives the cluster rails, any way of crossing between them, and up to two switches.
void DrawFabric(RandomDraws& draws, Cluster& cluster);

}  // namespace reshard
