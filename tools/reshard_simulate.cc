// reshard-simulate: predicts the time of a plan, and what its resources are busy with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "foundation/error.h"
#include "schedules/number_text.h"
#include "schedules/plan.h"
#include "simulator/commit_time.h"
#include "simulator/constants.h"
#include "simulator/cost_model.h"
#include "simulator/record_replay.h"
#include "simulator/simulate.h"
#include "simulator/trace_reader.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/output_file.h"
#include "tools/plan_loading.h"
#include "tools/plan_summary.h"
#include "tools/planner_comparison.h"
#include "tools/progress.h"
#include "tools/replay_overlay.h"
#include "tools/report_file.h"
#include "tools/resource_summary.h"
#include "tools/scenarios.h"
#include "tools/stopwatch.h"
#include "tools/text_table.h"
#include "tools/trace_file.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-simulate";
constexpr std::string_view kPurpose =
    "Predicts how long a plan takes and what keeps its resources busy. A job is compiled first, in "
    "memory.";
constexpr std::string_view kExample =
    "  reshard-simulate tiny-moe.reshard\n"
    "  reshard-simulate schedules/reference/tiny-moe.job.json --json";

struct Arguments {
  std::string input;
  std::string constants;
  std::string trace;
  std::string report;
  std::string overlay;
  std::string compare;
  ScenarioRequest scenarios;
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN|JOB", arguments.input, "a plan, or a job (JSON)");
  command_line.AddOption("--constants", "FILE", arguments.constants,
                         "how NCCL and copy kernels behave, instead of what is built in");
  command_line.AddOption("--trace", "FILE", arguments.trace,
                         "write what happens when, for Perfetto or chrome://tracing");
  command_line.AddOption("--report", "FILE", arguments.report,
                         "write a page (HTML) with tables and pictures");
  command_line.AddOption("--overlay", "MEASURED", arguments.overlay,
                         "show a trace of reshard-replay beside the prediction");
  command_line.AddOption("--compare", "NAME,..|all", arguments.compare,
                         "a table of what these planners make of the job, alone or, with "
                         "--report, on its page too");
  AddScenarioOptions(command_line, arguments.scenarios);
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the tables");
  return command_line.Parse(argc, argv);
}

// A proven plan and the cluster it runs on.
struct Subject {
  Plan plan;
  VerifierReport verified;
  Cluster cluster;
};

Result<Subject> ReadPlan(const std::string& path) {
  Result<LoadedPlan> loaded = LoadPlan(path);
  if (!loaded) return tl::unexpected(loaded.error());
  Result<Cluster> cluster = EmbeddedCluster(loaded->plan, path);
  if (!cluster) return tl::unexpected(cluster.error());
  return Subject{std::move(loaded->plan), loaded->verified, std::move(*cluster)};
}

Result<Subject> CompileJob(const Job& job, const Constants& constants, Progress& progress) {
  const SimulatedCostModel cost_model(job.cluster, constants);
  Result<Compiled> compiled =
      Compile(job, cost_model, [&](std::string_view stage) { progress.Begin(stage); });
  if (!compiled) return tl::unexpected(compiled.error());
  return Subject{std::move(compiled->plan), compiled->report.verified, job.cluster};
}

Result<Subject> ReadSubject(const std::string& path, bool is_job, const Constants& constants,
                            Progress& progress) {
  if (!is_job) return ReadPlan(path);
  const Result<Job> job = ReadJob(path);
  if (!job) return tl::unexpected(job.error());
  return CompileJob(*job, constants, progress);
}

Result<Job> EmbeddedJob(const std::string& path) {
  return LoadPlan(path).and_then([&](const LoadedPlan& loaded) {
    return ParseJob(loaded.plan.job_json, path + ": embedded job");
  });
}

// What was written or read beside the tables.
struct Files {
  std::optional<WrittenTrace> trace;
  std::optional<WrittenReport> report;
  std::optional<ReplayOverlay> overlay;  // read, not written
};

// Says before the work begins which options do not fit, and what would keep a file from being
// written.
Result<void> CheckArguments(const Arguments& arguments) {
  const bool asks_for_more = !arguments.trace.empty() || !arguments.overlay.empty() ||
                             !arguments.scenarios.what_if.empty() ||
                             !arguments.scenarios.sweep.empty();
  if (!arguments.compare.empty() && asks_for_more) {
    return UsageError("--compare excludes --trace, --overlay, --what-if and --sweep",
                      "give it alone or with --report");
  }
  if (!arguments.compare.empty()) {
    const auto planners = ParsePlannerNames(arguments.compare);
    if (!planners) return tl::unexpected(planners.error());
  }
  if (Result<void> fine = CheckScenarioRequest(arguments.scenarios); !fine) return fine;
  const std::string outputs[] = {arguments.trace, arguments.report, arguments.scenarios.plot};
  const std::string inputs[] = {arguments.input, arguments.constants, arguments.overlay};
  return CheckOutputPaths(outputs, inputs);
}

Result<ReplayOverlay> ReadOverlay(const std::string& path, const Subject& subject,
                                  const Constants& constants) {
  const Result<TraceSteps> measured = ReadTrace(path);
  if (!measured) return tl::unexpected(measured.error());
  const Result<ReplayRecord> predicted = RecordReplay(subject.plan, subject.cluster, constants);
  if (!predicted) return tl::unexpected(predicted.error());
  return MakeOverlay(subject.plan, predicted->steps, *measured, path);
}

// What the tables say, once more as a page.
Result<WrittenReport> WriteReportPage(const Arguments& arguments, const Subject& subject,
                                      const Constants& constants, const SimulationResult& result,
                                      const PlanSummary& summary, double commit_seconds,
                                      const Files& files, const Scenarios& scenarios,
                                      const std::optional<PlannerComparison>& comparison) {
  ReportInput input{arguments.input, subject.plan, subject.cluster, constants,
                    result,          summary,      commit_seconds,  {}};
  if (files.overlay) {
    for (OverlayTable& part : OverlayTables(*files.overlay, subject.plan)) {
      input.more.push_back({"overlay", std::move(part.title), "", "", std::move(part.table), ""});
    }
  }
  for (ReportSection& section :
       ScenarioSections(scenarios, UnchangedScenario(subject.plan, result.seconds))) {
    input.more.push_back(std::move(section));
  }
  if (comparison) {
    input.more.push_back({"comparison", "Planners compared", "",
                          fmt::format("{}", fmt::join(ComparisonNotes(*comparison), "; ")),
                          ComparisonTable(*comparison), ""});
  }
  return WriteReport(arguments.report, input);
}

Result<Files> WriteFiles(const Arguments& arguments, const Subject& subject,
                         const Constants& constants, const SimulationResult& result,
                         const PlanSummary& summary, double commit_seconds,
                         const Scenarios& scenarios, Progress& progress) {
  Files files;
  if (!arguments.overlay.empty()) {
    progress.Begin("reading what was measured");
    Result<ReplayOverlay> overlay = ReadOverlay(arguments.overlay, subject, constants);
    if (!overlay) return tl::unexpected(overlay.error());
    files.overlay = *std::move(overlay);
  }
  if (!arguments.trace.empty()) {
    progress.Begin("writing the trace");
    Result<WrittenTrace> trace =
        WriteTrace(arguments.trace, subject.plan, subject.cluster, constants);
    if (!trace) return tl::unexpected(trace.error());
    files.trace = *std::move(trace);
  }
  if (!arguments.report.empty()) {
    progress.Begin("writing the report");
    Result<WrittenReport> report = WriteReportPage(arguments, subject, constants, result, summary,
                                                   commit_seconds, files, scenarios, std::nullopt);
    if (!report) return tl::unexpected(report.error());
    files.report = *std::move(report);
  }
  return files;
}

// What --compare has made, and the page it may be on.
struct Compared {
  PlannerComparison comparison;
  std::optional<WrittenReport> report;
};

Result<Compared> ComparePlannersOf(const Arguments& arguments, bool is_job,
                                   const Constants& constants, Progress& progress) {
  const auto planners = ParsePlannerNames(arguments.compare);
  if (!planners) return tl::unexpected(planners.error());
  progress.Begin("reading the job");
  const Result<Job> job = is_job ? ReadJob(arguments.input) : EmbeddedJob(arguments.input);
  if (!job) return tl::unexpected(job.error());
  std::optional<Compiled> own;
  Result<PlannerComparison> comparison =
      ComparePlanners(*job, *planners, constants, progress, is_job ? &own : nullptr);
  if (!comparison) return tl::unexpected(comparison.error());
  Compared compared{*std::move(comparison), std::nullopt};
  if (arguments.report.empty()) return compared;

  progress.Begin("writing the report");
  const Result<Subject> subject =
      own      ? Subject{std::move(own->plan), own->report.verified, job->cluster}
      : is_job ? CompileJob(*job, constants, progress)
               : ReadPlan(arguments.input);
  if (!subject) return tl::unexpected(subject.error());
  const Result<SimulationResult> result = Simulate(subject->plan, subject->cluster, constants);
  if (!result) return tl::unexpected(result.error());
  const Result<PlanSummary> summary = Summarize(subject->plan, subject->verified, result->seconds);
  if (!summary) return tl::unexpected(summary.error());
  Result<WrittenReport> report =
      WriteReportPage(arguments, *subject, constants, *result, *summary,
                      PredictCommitSeconds(subject->plan.job, subject->cluster, constants), {}, {},
                      compared.comparison);
  if (!report) return tl::unexpected(report.error());
  compared.report = *std::move(report);
  return compared;
}

// Prints the table of --compare.
Result<void> Compare(const Arguments& arguments, bool is_job, const Constants& constants) {
  Progress progress;
  const Result<Compared> compared = ComparePlannersOf(arguments, is_job, constants, progress);
  if (!compared) return tl::unexpected(compared.error());
  progress.End();
  if (arguments.json) {
    JsonValue::Object fields = ComparisonFields(compared->comparison);
    if (compared->report) AppendFields(*compared->report, fields);
    Print(JsonReport(fields));
    return {};
  }
  Print(ComparisonText(compared->comparison));
  if (!compared->report) return {};
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  AppendRows(*compared->report, table);
  Print("\n" + table.Text());
  return {};
}

RankTimes LatestEnds(const SimulationResult& result) {
  RankTimes latest;
  for (const RankTimes& rank : result.ranks) {
    latest.pack_end_seconds = std::max(latest.pack_end_seconds, rank.pack_end_seconds);
    latest.exchange_end_seconds = std::max(latest.exchange_end_seconds, rank.exchange_end_seconds);
    latest.unpack_end_seconds = std::max(latest.unpack_end_seconds, rank.unpack_end_seconds);
  }
  return latest;
}

void PrintJson(const PlanSummary& summary, const SimulationResult& result, double commit_seconds,
               const std::string& constants_digest, double simulate_seconds, const Files& files,
               const Scenarios& scenarios) {
  const RankTimes latest = LatestEnds(result);
  JsonValue::Object fields;
  AppendFields(summary, fields);
  fields.emplace_back("commitSeconds", commit_seconds);
  fields.emplace_back("packEndSeconds", latest.pack_end_seconds);
  fields.emplace_back("exchangeEndSeconds", latest.exchange_end_seconds);
  fields.emplace_back("unpackEndSeconds", latest.unpack_end_seconds);
  fields.emplace_back("digest", summary.digest);
  fields.emplace_back("constantsDigest", constants_digest);
  fields.emplace_back("simulateSeconds", simulate_seconds);
  JsonValue::Array resources;
  for (const ResourceUse& use : result.resources) {
    resources.emplace_back(JsonValue::Object{
        {"name", use.name}, {"GBps", use.rate_gbps}, {"bytes", use.bytes}, {"busy", use.busy}});
  }
  fields.emplace_back("resources", std::move(resources));
  if (files.trace) AppendFields(*files.trace, fields);
  if (files.report) AppendFields(*files.report, fields);
  if (files.overlay) AppendFields(*files.overlay, fields);
  AppendFields(scenarios, fields);
  Print(JsonReport(fields));
}

void PrintTables(const PlanSummary& summary, const SimulationResult& result, double commit_seconds,
                 double simulate_seconds, const Files& files) {
  const RankTimes latest = LatestEnds(result);
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"predicted time", SecondsText(result.seconds)});
  table.AddRow({"lower bound",
                fmt::format("{}: {}", SecondsText(summary.lower_bound_seconds), summary.bound_by)});
  table.AddRow({"gap", summary.gap ? PercentText(*summary.gap) : "none: the bound is 0"});
  table.AddRow({"rounds", CountText(summary.rounds)});
  table.AddRow({"last pack", SecondsText(latest.pack_end_seconds)});
  table.AddRow({"last exchange", SecondsText(latest.exchange_end_seconds)});
  table.AddRow({"last unpack", SecondsText(latest.unpack_end_seconds)});
  table.AddRow({"commit", SecondsText(commit_seconds) + " more, after the refit"});
  if (files.trace) AppendRows(*files.trace, table);
  if (files.report) AppendRows(*files.report, table);
  table.AddRow({"spent", SecondsText(simulate_seconds)});

  const TextTable resources = ResourceTable(ResourceKinds(result.resources));
  Print(table.Text());
  if (!resources.empty()) Print("\n" + resources.Text());
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};

  const Result<Constants> constants =
      arguments.constants.empty() ? DefaultConstants() : ReadConstants(arguments.constants);
  if (!constants) return tl::unexpected(constants.error());
  if (Result<void> fine = CheckArguments(arguments); !fine) return fine;
  const Result<bool> is_job = HoldsJson(arguments.input);
  if (!is_job) return tl::unexpected(is_job.error());
  if (!arguments.compare.empty()) return Compare(arguments, *is_job, *constants);

  Progress progress;
  progress.Begin(*is_job ? "reading the job" : "reading the plan");
  const Result<Subject> subject = ReadSubject(arguments.input, *is_job, *constants, progress);
  if (!subject) return tl::unexpected(subject.error());

  progress.Begin("simulating");
  const Stopwatch stopwatch;
  const Result<SimulationResult> result = Simulate(subject->plan, subject->cluster, *constants);
  if (!result) return tl::unexpected(result.error());
  const double simulate_seconds = stopwatch.Seconds();
  const Result<PlanSummary> summary = Summarize(subject->plan, subject->verified, result->seconds);
  if (!summary) return tl::unexpected(summary.error());
  const double commit_seconds =
      PredictCommitSeconds(subject->plan.job, subject->cluster, *constants);
  const Result<Scenarios> scenarios =
      RunScenarios(arguments.scenarios, subject->plan, *constants, progress);
  if (!scenarios) return tl::unexpected(scenarios.error());
  const Result<Files> files = WriteFiles(arguments, *subject, *constants, *result, *summary,
                                         commit_seconds, *scenarios, progress);
  if (!files) return tl::unexpected(files.error());
  progress.End();
  if (arguments.json) {
    PrintJson(*summary, *result, commit_seconds, ConstantsDigest(*constants), simulate_seconds,
              *files, *scenarios);
  } else {
    PrintTables(*summary, *result, commit_seconds, simulate_seconds, *files);
    if (files->overlay) Print(OverlayText(*files->overlay, subject->plan));
    Print(ScenariosText(*scenarios, UnchangedScenario(subject->plan, result->seconds)));
  }
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
