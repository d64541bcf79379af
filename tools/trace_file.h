// The trace that reshard-simulate --trace writes.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "tools/text_table.h"
#include "topology/cluster.h"

namespace reshard {

struct WrittenTrace {
  std::string path;
  std::int64_t bytes = 0;
  std::string arrows;    // which transfers have one
  std::string counters;  // what a point is the mean of
};

// Simulates once more, the long way, and writes the trace to `path`.
Result<WrittenTrace> WriteTrace(const std::string& path, const Plan& plan, const Cluster& cluster,
                                const Constants& constants);

// Field `trace` of --json, and the same for people.
void AppendFields(const WrittenTrace& trace, JsonValue::Object& fields);
void AppendRows(const WrittenTrace& trace, TextTable& table);

}  // namespace reshard
