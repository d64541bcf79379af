#include "tools/scenarios.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "compiler/job/job_edit.h"
#include "tools/output_file.h"

namespace reshard {

namespace {

// The edits of all scenarios: those of --what-if, then a value of the sweep each.
struct AllEdits {
  std::vector<std::string> scenarios;
  std::optional<Sweep> sweep;
};

Result<AllEdits> EditsOf(const ScenarioRequest& request) {
  AllEdits all{request.what_if, std::nullopt};
  if (request.sweep.empty()) return all;
  Result<Sweep> sweep = ParseSweep(request.sweep);
  if (!sweep) return tl::unexpected(sweep.error());
  for (const std::string& value : sweep->values) {
    all.scenarios.push_back(sweep->key + "=" + value);
  }
  all.sweep = *std::move(sweep);
  return all;
}

}  // namespace

void AddScenarioOptions(CommandLine& command_line, ScenarioRequest& request) {
  command_line.AddRepeated("--what-if", "EDITS", request.what_if,
                           "a scenario: edits of the cluster or job joined by ';', for example "
                           "'nic 17=0; gpu 9 dead'");
  command_line.AddOption("--sweep", "KEY=A,B,C", request.sweep,
                         "a scenario for each value, for example nicGBps=24,48,96");
  command_line.AddOption("-o,--output", "FILE.svg", request.plot, "a plot of the sweep");
}

Result<void> CheckScenarioRequest(const ScenarioRequest& request) {
  const Result<AllEdits> edits = EditsOf(request);
  if (!edits) return tl::unexpected(edits.error());
  for (const std::string& scenario : edits->scenarios) {
    const Result<std::vector<JobEdit>> parsed = ParseJobEdits(scenario);
    if (!parsed) return tl::unexpected(parsed.error());
    if (Result<void> known = CheckEditKeys(*parsed); !known) return known;
  }
  if (request.plot.empty()) return {};
  if (request.sweep.empty()) {
    return UsageError("-o " + request.plot + ": there is no sweep to plot", "add --sweep");
  }
  if (!request.plot.ends_with(".svg")) {
    return UsageError("-o " + request.plot + ": a plot is an SVG file",
                      "name a file that ends with .svg");
  }
  return {};
}

Result<Scenarios> RunScenarios(const ScenarioRequest& request, const Plan& plan,
                               const Constants& constants, Progress& progress) {
  Scenarios scenarios;
  Result<AllEdits> all = EditsOf(request);
  if (!all) return tl::unexpected(all.error());
  const std::vector<std::string>& edits = all->scenarios;
  scenarios.sweep = std::move(all->sweep);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    progress.Begin(fmt::format("scenario {} of {}: {}", i + 1, edits.size(), edits[i]));
    Result<Scenario> scenario = RunScenario(plan, edits[i], constants);
    if (!scenario) return tl::unexpected(scenario.error());
    (i < request.what_if.size() ? scenarios.what_if : scenarios.swept)
        .push_back(std::move(*scenario));
  }
  if (!request.plot.empty()) {
    const Result<std::int64_t> written =
        WriteWholeFile(request.plot, DrawSweep(*scenarios.sweep, scenarios.swept));
    if (!written) return tl::unexpected(written.error());
  }
  return scenarios;
}

void AppendFields(const Scenarios& scenarios, JsonValue::Object& fields) {
  if (!scenarios.what_if.empty()) {
    fields.emplace_back("scenarios", ScenariosToJson(scenarios.what_if));
  }
  if (scenarios.sweep) {
    fields.emplace_back("sweep",
                        JsonValue::Object{{"key", scenarios.sweep->key},
                                          {"scenarios", ScenariosToJson(scenarios.swept)}});
  }
}

std::vector<Scenario> WithUnchanged(const Scenario& unchanged, const std::vector<Scenario>& list) {
  std::vector<Scenario> rows = {unchanged};
  rows.insert(rows.end(), list.begin(), list.end());
  return rows;
}

std::string ScenariosText(const Scenarios& scenarios, const Scenario& unchanged) {
  std::string text;
  for (const auto& [heading, list] :
       {std::pair("what if", &scenarios.what_if), std::pair("sweep", &scenarios.swept)}) {
    if (list->empty()) continue;
    text += "\n" + ScenarioText(heading, WithUnchanged(unchanged, *list));
  }
  return text;
}

}  // namespace reshard
