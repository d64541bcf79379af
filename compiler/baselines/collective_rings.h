// The rings that NCCL lays through the ranks of a communicator.
//
// NCCL enters and leaves a node once per ring, and makes rings until the node's NICs are used: ring
// k enters an NVLink domain at its k-th rank, passes all its ranks and leaves by the one before the
// k-th. So a collective is as fast as the NICs of a domain together, where one ring would be as
// fast as one NIC.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

// One order of `ranks`, ascending, for each ring: as many rings as the largest domain has ranks of
// them. In ring k each domain's ranks begin with the one k places on, cyclically.
std::vector<std::vector<RankIndex>> CollectiveRings(const JobRecords& job,
                                                    std::span<const RankIndex> ranks);

// Part `ring` of `bytes` dealt over `rings` as evenly as whole bytes go.
std::int64_t RingBytes(std::int64_t bytes, std::size_t ring, std::size_t rings);

}  // namespace reshard
