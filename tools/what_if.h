// Scenarios: a plan on an edited cluster or job, beside what would be compiled for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "tools/text_table.h"

namespace reshard {

// A predicted time, or why there is none.
struct Prediction {
  std::optional<double> seconds;
  std::string reason;  // one line; empty where there are seconds
};

struct Scenario {
  std::string edits;
  std::optional<double> lower_bound_seconds;  // of the edited job; none where nothing compiles
  std::string bound_by;
  Prediction old_plan;  // on the edited cluster
  Prediction recompiled;
};

// Applies `edits` (compiler/job/edit_text.h, compiler/job/job_edit.h) to the job that `plan`, a
// proven plan, embeds. Fails only where the edits themselves make no sense, with fault kUsage;
// whatever cannot run is an outcome.
Result<Scenario> RunScenario(const Plan& plan, const std::string& edits,
                             const Constants& constants);

// The plan as it is, to compare with.
Scenario UnchangedScenario(const Plan& plan, double predicted_seconds);

// A row each, `heading` over their edits.
TextTable ScenarioTable(std::string_view heading, std::span<const Scenario> scenarios);
// Why a plan cannot run, a line each, without line breaks.
std::vector<std::string> ScenarioNotes(std::span<const Scenario> scenarios);
// The table, and the notes below it. Ends with a line break.
std::string ScenarioText(std::string_view heading, std::span<const Scenario> scenarios);

// The elements of "scenarios" in --json.
JsonValue ScenariosToJson(std::span<const Scenario> scenarios);

// "nicGBps=24,48,96": a scenario for each value.
struct Sweep {
  std::string key;  // "nicGBps", "nic 17"
  std::vector<std::string> values;
};

// At least one value; an error of fault kUsage else.
Result<Sweep> ParseSweep(const std::string& text);

// A picture (SVG) of bound and predicted times over the values; `scenarios` are theirs, in order.
std::string DrawSweep(const Sweep& sweep, std::span<const Scenario> scenarios);

}  // namespace reshard
