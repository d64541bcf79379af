// --what-if and --sweep as a command takes them: its options, their run, what it prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "tools/command_line.h"
#include "tools/progress.h"
#include "tools/what_if.h"

namespace reshard {

struct ScenarioRequest {
  std::vector<std::string> what_if;  // edits, a scenario each
  std::string sweep;                 // "" for none
  std::string plot;                  // the file of the sweep's plot; "" for none
};

struct Scenarios {
  std::vector<Scenario> what_if;
  std::optional<Sweep> sweep;
  std::vector<Scenario> swept;  // one for each value of `sweep`
};

// Options --what-if, --sweep and -o, which write to `request`.
void AddScenarioOptions(CommandLine& command_line, ScenarioRequest& request);

// Says before the work begins which edits, values of the sweep and plot are no such things. What
// only the job can tell (a NIC that it lacks) is found by RunScenarios().
Result<void> CheckScenarioRequest(const ScenarioRequest& request);

// Runs all scenarios on `plan`, a proven plan, and writes the plot.
Result<Scenarios> RunScenarios(const ScenarioRequest& request, const Plan& plan,
                               const Constants& constants, Progress& progress);

// Fields "scenarios" and "sweep" of --json, where there are such.
void AppendFields(const Scenarios& scenarios, JsonValue::Object& fields);
// `list` after `unchanged`: the rows of a table.
std::vector<Scenario> WithUnchanged(const Scenario& unchanged, const std::vector<Scenario>& list);
// A table for each of both, with a blank line before it; `unchanged` is its first row.
std::string ScenariosText(const Scenarios& scenarios, const Scenario& unchanged);

}  // namespace reshard
