// What it takes to commit a version after a refit: rounds that are appended when the plan is
// captured, so that they are no part of the plan, and of its predicted time neither.
#pragma once

#include <cstddef>

#include "schedules/job_records.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

// Children of a rank in the tree of its side; kCommitChildren of kernels/cuda/commit_kernels.h.
inline constexpr std::size_t kCommitTreeChildren = 8;

// Seconds from a refit that all ranks end at once until every rank knows that all ranks of its side
// have all their bytes.
//
// As the runtime does it (runtime/nccl/commit_tree.h), on the source first and then on the
// destination: the i-th rank of a side has the children 8 i + 1 .. 8 i + 8. Going up a rank
// receives from its children, sums up (a kernel) and sends to its parent; going down it receives
// the verdict, takes it in (a kernel) and sends it to its children. At last it publishes (a
// kernel). A hop costs the sender's kernel launch and NCCL group and the latency of the hop; a
// token's bytes cost nothing. Precondition: the ranks' GPUs exist.
double PredictCommitSeconds(const JobRecords& job, const Cluster& cluster,
                            const Constants& constants);

}  // namespace reshard
