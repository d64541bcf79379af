// What it takes to commit a version after a refit: rounds that are appended when the plan is
// captured, so that they are no part of the plan, and of its predicted time neither.
#pragma once

#include "schedules/job_records.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

// Seconds until every rank of the destination knows that every other has all its bytes.
//
// Dissemination (Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988): in
// round k = 0 .. ceil(log2 n) - 1 each of the side's n ranks sends a flag to the one 2^k places on.
// A round costs its kernel's launch, its NCCL group, and the latency of its longest hop; a flag's
// bytes cost nothing. 0 for a side of one rank. Precondition: the ranks' GPUs exist.
double PredictCommitSeconds(const JobRecords& job, const Cluster& cluster,
                            const Constants& constants);

}  // namespace reshard
