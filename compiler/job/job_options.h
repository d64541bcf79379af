// The "options" of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/layout/name_pattern.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "foundation/json_value.h"
#include "schedules/job_records.h"

namespace reshard {

struct JobOptions {
  Options options;
  std::vector<NamePattern> ignore;  // bytewise by text, each once
  std::vector<InPlacePair> in_place;
};

// Defaults where `options` or a field of it is absent.
//   planner        name of a planner
//   stagingMiB     above 0
//   chunkMiB       above 0; without it the planner chooses
//   maxOpsPerGroup at least 1
//   maxPeers       at least 1; without it there is no limit
//   nicShare       above 0, at most 1
//   ignore         name patterns of tensors that stay where they are
//   inPlace        pairs [source parameter, destination parameter] that share memory
Result<JobOptions> ReadJobOptions(const std::optional<JsonCursor>& options);

// All of them, defaults too; ReadJobOptions makes equal ones from it.
JsonValue JobOptionsToJson(const JobOptions& options);

}  // namespace reshard
