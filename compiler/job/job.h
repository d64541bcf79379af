// A job as read: the machine, the plain records, and the canonical text that a plan embeds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/job_records.h"
#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

struct Job {
  Cluster cluster;
  JobRecords records;
  Notices notices;
  std::string canonical_json;  // cluster, model, layouts as written, inlined and normalised
  std::string digest;          // of canonical_json
};

// Reads `path` and the files it names. `settings` are --set path=value edits applied to the job's
// JSON before it is understood.
Result<Job> ReadJob(const std::string& path,
                    const std::vector<std::pair<std::string, std::string>>& settings = {});

// The job embedded in a plan (Plan::job_json) or edited from it. `place` names it in errors.
Result<Job> ParseJob(const std::string& canonical_json, const std::string& place);

}  // namespace reshard
