// The page that reshard-simulate --report writes: what a plan takes, what binds, and pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/simulate.h"
#include "tools/html_report.h"
#include "tools/plan_summary.h"
#include "tools/scenarios.h"
#include "tools/text_table.h"
#include "topology/cluster.h"

namespace reshard {

struct ReportInput {
  std::string name;  // of the plan or job
  const Plan& plan;
  const Cluster& cluster;
  const Constants& constants;
  const SimulationResult& simulated;
  const PlanSummary& summary;
  double commit_seconds = 0;
  std::vector<ReportSection> more;  // comparisons and the like, after the summary
};

struct WrittenReport {
  std::string path;
  std::int64_t bytes = 0;
};

// A part of the page for each of what-if and sweep: the table, `unchanged` its first row, below it
// the plot of a sweep.
std::vector<ReportSection> ScenarioSections(const Scenarios& scenarios, const Scenario& unchanged);

// Simulates once more, the long way, draws, and writes the page to `path`.
Result<WrittenReport> WriteReport(const std::string& path, const ReportInput& input);

// Field `report` of --json, and the same for people.
void AppendFields(const WrittenReport& report, JsonValue::Object& fields);
void AppendRows(const WrittenReport& report, TextTable& table);

}  // namespace reshard
