// --compare as a command takes it: one job planned by several planners, all simulated alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/traffic.h"
#include "simulator/constants.h"
#include "tools/progress.h"
#include "tools/text_table.h"

namespace reshard {

// What one planner makes of the job.
struct PlannerOutcome {
  std::string planner;
  std::string refusal;  // why it makes nothing of it; empty where it does
  double predicted_seconds = 0;
  std::int64_t network_bytes = 0;  // sent between domains
  // Bytes of the busiest NIC, one way, over the mean of all NICs of its side that way: the source's
  // out, the destination's in. None where no NIC carries a byte.
  std::optional<double> busiest_nic_over_mean;
  std::int64_t rounds = 0;  // 0 for a simulation-only plan
  // Of the rank that has most, over the whole refit; of a simulation-only plan, else 0.
  std::int64_t operations_max = 0;
  std::int64_t staging_bytes_max = 0;
  double coverage = 1;                       // part of the demand that it moves
  std::vector<Omission> omissions;           // the rest
  std::vector<std::string> omitted_tensors;  // name of the first tensor of each
};

struct PlannerComparison {
  std::int64_t bytes = 0;  // the demand
  double lower_bound_seconds = 0;
  std::string bound_by;
  std::vector<PlannerOutcome> outcomes;  // in the order asked for
};

// The planners that `text` names: "optimal,direct", or "all". An unknown name is an error of fault
// kUsage that shows the nearest ones.
Result<std::vector<std::string>> ParsePlannerNames(const std::string& text);

// Compiles, verifies and simulates `job` once per planner. A job that none of them can be asked
// about (one that needs no planner to be wrong) fails as it does for the first. Unless null, `own`
// is given the plan of the job's own planner if that is among them and makes one.
Result<PlannerComparison> ComparePlanners(const Job& job, const std::vector<std::string>& planners,
                                          const Constants& constants, Progress& progress,
                                          std::optional<Compiled>* own = nullptr);

TextTable ComparisonTable(const PlannerComparison& comparison);
// What is left out and who refuses, a line each, without line breaks.
std::vector<std::string> ComparisonNotes(const PlannerComparison& comparison);
// The table, and below it what is left out and who refuses, a line each. Ends with a line break.
std::string ComparisonText(const PlannerComparison& comparison);
// Fields of --json, in the order of the README.
JsonValue::Object ComparisonFields(const PlannerComparison& comparison);

}  // namespace reshard
