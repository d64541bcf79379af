// The traces that reshard-simulate --trace and reshard-replay --trace write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "simulator/constants.h"
#include "tools/text_table.h"
#include "topology/cluster.h"

namespace reshard {

struct WrittenTrace {
  std::string path;
  std::int64_t bytes = 0;
  std::string arrows;    // which transfers have one; empty in a measured trace
  std::string counters;  // what a point is the mean of; empty in a measured trace
};

// Simulates once more, the long way, and writes the trace to `path`.
Result<WrittenTrace> WriteTrace(const std::string& path, const Plan& plan, const Cluster& cluster,
                                const Constants& constants);

// Writes measured steps to `path`, in the schema of the predicted ones.
Result<WrittenTrace> WriteMeasuredTrace(const std::string& path, const Plan& plan,
                                        const std::vector<StepTime>& steps);

// Field `trace` of --json, and the same for people.
void AppendFields(const WrittenTrace& trace, JsonValue::Object& fields);
void AppendRows(const WrittenTrace& trace, TextTable& table);

}  // namespace reshard
