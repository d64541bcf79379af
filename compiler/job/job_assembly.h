// Both sides together: the plain records of a job, and what its summary must not keep silent.
#pragma once

#include <string>

#include "compiler/job/job_options.h"
#include "compiler/job/job_side.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "schedules/job_records.h"
#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

struct JobAssembly {
  JobRecords records;
  Notices notices;
};

// Ranks are the union of both sides' GPUs, ascending; layouts are numbered in the order ranks use
// them, source before destination, equal ones once. Tensors that neither side holds, or that
// options.ignore names, are no part of the records. Takes the layouts out of the sides. Errors: a
// tensor that one side alone holds, regions of a destination layout that overlap, an inPlace pair
// that no rank has both parameters of.
Result<JobAssembly> AssembleJob(const std::string& place, const Cluster& cluster,
                                const Model& model, Side source, Side destination,
                                const JobOptions& options);

}  // namespace reshard
