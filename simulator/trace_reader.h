// Reads the steps of a trace back: predicted or measured, in the schema of
// simulator/trace_events.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "schedules/replay_record.h"

namespace reshard {

struct TraceSteps {
  std::string kind;             // "predicted" or "measured"
  std::string digest;           // of the job
  std::vector<StepTime> steps;  // ascending by (rank, lane, round)
};

// Events that are no steps are passed over. Fails, naming the event, where a step is twice there or
// says what no step can.
Result<TraceSteps> ReadTrace(const std::string& path);
// `name` names the text in errors.
Result<TraceSteps> ParseTrace(std::string_view text, const std::string& name);

}  // namespace reshard
