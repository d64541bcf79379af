#include "tools/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "compiler/job/job_edit.h"
#include "schedules/number_text.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/line_plot.h"
#include "tools/plan_summary.h"

namespace reshard {
namespace {

constexpr std::string_view kUnchanged = "unchanged";
constexpr double kLeastLoss = 0.0005;  // of what percentages show

// Whether both have the same layouts on the same GPUs, wherever these are.
bool HoldTheSame(const JobRecords& a, const JobRecords& b) {
  const auto alike = [](const Rank& x, const Rank& y) {
    return x.gpu == y.gpu && x.source_layout == y.source_layout &&
           x.destination_layout == y.destination_layout;
  };
  return a.tensors == b.tensors && a.layouts == b.layouts && a.in_place == b.in_place &&
         std::ranges::equal(a.ranks, b.ranks, alike);
}

// Why the plan cannot serve the edited job whatever its time; empty if nothing is known to.
std::string Hindrance(const Plan& plan, const Job& edited) {
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    const auto gpu = static_cast<std::size_t>(plan.job.ranks[rank].gpu);
    if (gpu < edited.cluster.gpus.size() && edited.cluster.gpus[gpu].dead) {
      return fmt::format("GPU {} is dead, and rank {} of the plan sits on it", gpu, rank);
    }
  }
  if (!HoldTheSame(plan.job, edited.records)) return "it was compiled for other layouts";
  const Options& options = edited.records.options;
  const Certificate& needs = plan.certificate;
  if (needs.staging_bytes_max > options.staging_bytes) {
    return fmt::format("it needs {} of staging on a rank, and {} are allowed",
                       MemoryText(needs.staging_bytes_max), MemoryText(options.staging_bytes));
  }
  if (needs.ops_per_group_max > options.max_ops_per_group) {
    return fmt::format("it has {} operations in an NCCL group, and {} are allowed",
                       CountText(needs.ops_per_group_max), CountText(options.max_ops_per_group));
  }
  if (options.max_peers > 0 && needs.peers_max > options.max_peers) {
    return fmt::format("a rank of it has {} peers, and {} are allowed", CountText(needs.peers_max),
                       CountText(options.max_peers));
  }
  return "";
}

Prediction PredictionOf(const Result<double>& seconds) {
  if (!seconds) return {std::nullopt, ToString(seconds.error())};
  return {*seconds, ""};
}

Prediction PredictOldPlan(const Plan& plan, const Job& edited, const Constants& constants) {
  std::string hindrance = Hindrance(plan, edited);
  if (!hindrance.empty()) return {std::nullopt, std::move(hindrance)};
  const double nic_share = edited.records.options.nic_share;
  const std::vector<Rank>& ranks = edited.records.ranks;
  if (nic_share == plan.job.options.nic_share && ranks == plan.job.ranks) {
    return PredictionOf(SimulateSeconds(plan, edited.cluster, constants));
  }
  // The same GPUs, but in other domains perhaps: NCCL's channels follow from where they are now.
  Plan moved = plan;
  moved.job.options.nic_share = nic_share;
  moved.job.ranks = ranks;
  return PredictionOf(SimulateSeconds(moved, edited.cluster, constants));
}

std::string GapText(const Prediction& prediction, const std::optional<double>& bound) {
  if (!prediction.seconds || !bound) return "";
  const std::optional<double> gap = Gap(*prediction.seconds, *bound);
  return gap ? PercentText(*gap) : "";
}

std::string TimeText(const Prediction& prediction) {
  return prediction.seconds ? SecondsText(*prediction.seconds) : "cannot run";
}

// How much longer the recompiled plan takes than the old one, where that shows: the planner does
// not know of the old plan, which may suit the edited cluster better.
std::optional<double> Loss(const Scenario& scenario) {
  if (!scenario.old_plan.seconds || !scenario.recompiled.seconds) return std::nullopt;
  const std::optional<double> loss = Gap(*scenario.recompiled.seconds, *scenario.old_plan.seconds);
  return loss && *loss >= kLeastLoss ? loss : std::nullopt;
}

JsonValue ToJson(const Prediction& prediction, const std::optional<double>& bound) {
  JsonValue::Object fields;
  const std::optional<double> gap =
      prediction.seconds && bound ? Gap(*prediction.seconds, *bound) : std::nullopt;
  fields.emplace_back("predictedSeconds", JsonOrNull(prediction.seconds));
  fields.emplace_back("gap", JsonOrNull(gap));
  fields.emplace_back("reason",
                      prediction.seconds ? JsonValue(nullptr) : JsonValue(prediction.reason));
  return fields;
}

}  // namespace

Result<Scenario> RunScenario(const Plan& plan, const std::string& edits,
                             const Constants& constants) {
  Scenario scenario;
  scenario.edits = edits;
  const auto nothing_runs = [&scenario](const Error& error) {
    scenario.old_plan.reason = scenario.recompiled.reason = ToString(error);
    return scenario;
  };
  const Result<std::vector<JobEdit>> parsed = ParseJobEdits(edits);
  if (!parsed) return tl::unexpected(parsed.error());
  const Result<std::string> text = EditJob(plan.job_json, *parsed);
  if (!text) {
    if (text.error().fault != Fault::kInput) return tl::unexpected(text.error());
    return nothing_runs(text.error());
  }
  const Result<Job> edited = ParseJob(*text, "edited job");
  if (!edited) return nothing_runs(edited.error());

  scenario.old_plan = PredictOldPlan(plan, *edited, constants);
  const SimulatedCostModel cost_model(edited->cluster, constants);
  const Result<Compiled> compiled = Compile(*edited, cost_model);
  if (!compiled) {
    scenario.recompiled.reason = ToString(compiled.error());
    return scenario;
  }
  const Certificate& certificate = compiled->plan.certificate;
  scenario.lower_bound_seconds = certificate.lower_bound.seconds;
  scenario.bound_by = certificate.lower_bound.description;
  scenario.recompiled.seconds = certificate.predicted_seconds;
  return scenario;
}

Scenario UnchangedScenario(const Plan& plan, double predicted_seconds) {
  return {std::string(kUnchanged),
          plan.certificate.lower_bound.seconds,
          plan.certificate.lower_bound.description,
          {predicted_seconds, ""},
          {predicted_seconds, ""}};
}

TextTable ScenarioTable(std::string_view heading, std::span<const Scenario> scenarios) {
  TextTable table({{std::string(heading), Alignment::kLeft},
                   {"lower bound", Alignment::kRight},
                   {"old plan", Alignment::kRight},
                   {"gap", Alignment::kRight},
                   {"recompiled", Alignment::kRight},
                   {"gap", Alignment::kRight},
                   {"what binds", Alignment::kLeft}});
  for (const Scenario& scenario : scenarios) {
    const std::optional<double>& bound = scenario.lower_bound_seconds;
    table.AddRow({scenario.edits, bound ? SecondsText(*bound) : "", TimeText(scenario.old_plan),
                  GapText(scenario.old_plan, bound), TimeText(scenario.recompiled),
                  GapText(scenario.recompiled, bound), scenario.bound_by});
  }
  return table;
}

std::vector<std::string> ScenarioNotes(std::span<const Scenario> scenarios) {
  std::vector<std::string> notes;
  for (const Scenario& scenario : scenarios) {
    const std::string& old_reason = scenario.old_plan.reason;
    const std::string& new_reason = scenario.recompiled.reason;
    if (!old_reason.empty() && old_reason == new_reason) {
      notes.push_back(fmt::format("{}: {}", scenario.edits, old_reason));
      continue;
    }
    if (const std::optional<double> loss = Loss(scenario)) {
      notes.push_back(fmt::format("{}: keep the old plan, the recompiled one takes {} longer",
                                  scenario.edits, PercentText(*loss)));
    }
    if (!old_reason.empty()) {
      notes.push_back(fmt::format("{}, old plan: {}", scenario.edits, old_reason));
    }
    if (!new_reason.empty()) {
      notes.push_back(fmt::format("{}, recompiled: {}", scenario.edits, new_reason));
    }
  }
  return notes;
}

std::string ScenarioText(std::string_view heading, std::span<const Scenario> scenarios) {
  std::string text = ScenarioTable(heading, scenarios).Text();
  const std::vector<std::string> notes = ScenarioNotes(scenarios);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

JsonValue ScenariosToJson(std::span<const Scenario> scenarios) {
  JsonValue::Array list;
  for (const Scenario& scenario : scenarios) {
    const std::optional<double>& bound = scenario.lower_bound_seconds;
    JsonValue::Object fields;
    fields.emplace_back("edits", scenario.edits);
    fields.emplace_back("lowerBoundSeconds", JsonOrNull(bound));
    fields.emplace_back("boundBy", bound ? JsonValue(scenario.bound_by) : JsonValue(nullptr));
    fields.emplace_back("oldPlan", ToJson(scenario.old_plan, bound));
    fields.emplace_back("recompiled", ToJson(scenario.recompiled, bound));
    list.emplace_back(std::move(fields));
  }
  return list;
}

Result<Sweep> ParseSweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  Sweep sweep;
  if (equals != std::string::npos) {
    sweep.key = text.substr(0, equals);
    for (std::size_t first = equals + 1; first <= text.size();) {
      const std::size_t comma = std::min(text.find(',', first), text.size());
      sweep.values.push_back(text.substr(first, comma - first));
      first = comma + 1;
    }
  }
  const bool empty = std::ranges::find(sweep.values, "") != sweep.values.end();
  if (sweep.key.empty() || sweep.values.empty() || empty) {
    return UsageError("--sweep " + text + ": expected KEY=VALUE,VALUE..",
                      "for example --sweep nicGBps=24,48,96");
  }
  return sweep;
}

std::string DrawSweep(const Sweep& sweep, std::span<const Scenario> scenarios) {
  LinePlot plot{"Predicted time of the refit over " + sweep.key, sweep.key, sweep.values, {}};
  PlotLine bound{"lower bound", "#767676", {}};
  PlotLine old_plan{"old plan", "#c05a00", {}};
  PlotLine recompiled{"recompiled", "#0a5fa8", {}};
  for (const Scenario& scenario : scenarios) {
    bound.seconds.push_back(scenario.lower_bound_seconds);
    old_plan.seconds.push_back(scenario.old_plan.seconds);
    recompiled.seconds.push_back(scenario.recompiled.seconds);
  }
  plot.lines = {std::move(bound), std::move(old_plan), std::move(recompiled)};
  return DrawLinePlot(plot);
}

}  // namespace reshard
