// reshard-compile: from a job to a proven plan in a file, with a summary.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "compiler/planner.h"
#include "foundation/error.h"
#include "schedules/number_text.h"
#include "schedules/plan_codec.h"
#include "simulator/commit_time.h"
#include "simulator/connection_memory.h"
#include "simulator/constants.h"
#include "simulator/cost_model.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/output_file.h"
#include "tools/plan_summary.h"
#include "tools/progress.h"
#include "tools/stopwatch.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-compile";
constexpr std::string_view kPurpose =
    "Compiles a refit: reads the job, plans it, verifies and simulates the plan, writes it.";
constexpr std::string_view kExample =
    "  reshard-compile schedules/reference/tiny-moe.job.json -o tiny-moe.reshard \\\n"
    "      --set options.stagingMiB=64";

struct Arguments {
  std::string job;
  std::string output;
  std::string planner;
  std::vector<std::string> settings;
  bool json = false;
};

using Settings = std::vector<std::pair<std::string, std::string>>;

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  std::vector<std::string> planners;
  for (const std::string_view name : PlannerNames()) planners.emplace_back(name);
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("JOB", arguments.job, "the job (JSON)");
  command_line.AddRequiredOption("-o,--output", "PLAN", arguments.output, "the plan to write");
  command_line.AddChoice("--planner", "NAME", planners, arguments.planner,
                         "the planner, instead of the one the job names");
  command_line.AddRepeated("--set", "PATH=VALUE", arguments.settings,
                           "edit a field of the job before it is understood");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the table");
  return command_line.Parse(argc, argv);
}

Result<Settings> SplitSettings(const Arguments& arguments) {
  Settings settings;
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError("--set " + setting + ": expected PATH=VALUE",
                        "for example --set options.stagingMiB=1024");
    }
    settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  if (!arguments.planner.empty()) settings.emplace_back("options.planner", arguments.planner);
  return settings;
}

struct Spent {
  double compile_seconds = 0;  // the whole command, from the job to the file
  double verify_seconds = 0;
  double simulate_seconds = 0;
};

void PrintSummary(const Arguments& arguments, const Plan& plan, const PlanSummary& summary,
                  double commit_seconds, const ConnectionNeeds& connections,
                  std::int64_t file_bytes, const Spent& spent) {
  if (arguments.json) {
    JsonValue::Object fields;
    AppendFields(summary, fields);
    fields.emplace_back("connectionBytesMax", connections.bytes);
    fields.emplace_back("commitSeconds", commit_seconds);
    fields.emplace_back("fileBytes", file_bytes);
    fields.emplace_back("digest", summary.digest);
    fields.emplace_back("compileSeconds", spent.compile_seconds);
    fields.emplace_back("verifySeconds", spent.verify_seconds);
    fields.emplace_back("simulateSeconds", spent.simulate_seconds);
    AppendFields(plan.notices, fields);
    Print(JsonReport(fields));
    return;
  }
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"plan", fmt::format("{}, {}", arguments.output, BytesText(file_bytes))});
  AppendRows(summary, plan.job.options, table);
  table.AddRow({"connections", ConnectionText(connections)});
  table.AddRow({"commit", SecondsText(commit_seconds) + " more, after the refit"});
  AppendRows(plan, table);
  table.AddRow({"digest", summary.digest});
  table.AddRow(
      {"spent", fmt::format("{} in all, {} of it verifying, {} simulating",
                            SecondsText(spent.compile_seconds), SecondsText(spent.verify_seconds),
                            SecondsText(spent.simulate_seconds))});
  Print(table.Text());
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};
  const Result<Settings> settings = SplitSettings(arguments);
  if (!settings) return tl::unexpected(settings.error());
  if (Result<void> output = CheckOutputPath(arguments.output, arguments.job); !output) {
    return output;
  }

  const Stopwatch stopwatch;
  Progress progress;
  progress.Begin("reading the job");
  const Result<Job> job = ReadJob(arguments.job, *settings);
  if (!job) return tl::unexpected(job.error());
  const Result<Constants> constants = DefaultConstants();
  if (!constants) return tl::unexpected(constants.error());

  const SimulatedCostModel cost_model(job->cluster, *constants);
  const Result<Compiled> compiled =
      Compile(*job, cost_model, [&](std::string_view stage) { progress.Begin(stage); });
  if (!compiled) return tl::unexpected(compiled.error());
  const Plan& plan = compiled->plan;
  const Result<PlanSummary> summary =
      Summarize(plan, compiled->report.verified, plan.certificate.predicted_seconds);
  if (!summary) return tl::unexpected(summary.error());

  progress.Begin("writing the plan");
  const Result<std::int64_t> file_bytes = WritePlanFile(plan, arguments.output);
  if (!file_bytes) return tl::unexpected(file_bytes.error());
  progress.End();
  PrintSummary(
      arguments, plan, *summary, PredictCommitSeconds(plan.job, job->cluster, *constants),
      MostConnectionMemory(plan, *constants), *file_bytes,
      {stopwatch.Seconds(), compiled->report.verify_seconds, compiled->report.simulate_seconds});
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
