// reshard-replay: replays a plan on this machine, with real bytes, and checks where they end up.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "runtime/available_memory.h"
#include "runtime/trial_replay.h"
#include "schedules/number_text.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/plan_loading.h"
#include "tools/plan_summary.h"
#include "tools/progress.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-replay";
constexpr std::string_view kPurpose =
    "Replays a plan with real bytes: every rank packs, sends, receives and unpacks in this "
    "process. "
    "The source parameters get made-up values, others for every refit.";
constexpr std::string_view kExample = "  reshard-replay tiny-moe.reshard --refits 3 --check";

// Nothing but a fault of the program or a machine at a standstill takes longer.
constexpr std::chrono::minutes kDeadline{30};

struct Arguments {
  std::string plan;
  std::string backend = "host";
  std::optional<std::int64_t> refits = 1;
  bool check = false;
  bool json = false;
};

struct RefitRow {
  std::uint64_t refit = 0;
  double seconds = 0;
  std::string verdict;
};

struct Report {
  std::vector<RefitRow> rows;
  std::optional<Error> failure;  // of the last row
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN", arguments.plan, "the plan");
  command_line.AddChoice("--backend", "NAME", {"host"}, arguments.backend,
                         "what carries the bytes; host: memory of this process");
  command_line.AddOption("--refits", "N", arguments.refits, "how often to replay (1)");
  command_line.AddFlag("--check", arguments.check,
                       "check every byte of every parameter after each refit");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the table");
  return command_line.Parse(argc, argv);
}

Result<void> CheckMemory(const Plan& plan, const std::string& path) {
  const Result<std::int64_t> needed = TrialReplay::BytesNeeded(plan);
  if (!needed) return tl::unexpected(needed.error());
  const std::optional<std::int64_t> available = AvailableMemoryBytes();
  if (available && *needed > *available) {
    return RunError(path,
                    fmt::format("its ranks need {} for parameters and staging, this machine has {} "
                                "available",
                                MemoryText(*needed), MemoryText(*available)),
                    "replay a job with fewer or smaller parameters, or on a larger machine");
  }
  return {};
}

Report Replay(TrialReplay& trial, const Arguments& arguments, Progress& progress) {
  Report report;
  for (std::int64_t i = 1; i <= *arguments.refits; ++i) {
    const auto refit = static_cast<std::uint64_t>(i);
    progress.Begin(fmt::format("refit {}: filling parameters", refit));
    trial.Fill(refit);
    progress.Begin(fmt::format("refit {}: replaying", refit));
    const Result<double> seconds = trial.Replay(refit, kDeadline);
    if (!seconds) {
      report.rows.push_back({refit, 0, "failed"});
      report.failure = seconds.error();
      break;
    }
    report.rows.push_back({refit, *seconds, "not checked"});
    if (!arguments.check) continue;
    progress.Begin(fmt::format("refit {}: checking", refit));
    const Result<void> right = trial.Check(refit);
    report.rows.back().verdict = right ? "right" : "wrong";
    if (!right) {
      report.failure = right.error();
      break;
    }
  }
  return report;
}

void PrintJson(const PlanSummary& summary, const Plan& plan, const Arguments& arguments,
               const Report& report) {
  JsonValue::Array refits;
  for (const RefitRow& row : report.rows) {
    refits.emplace_back(JsonValue::Object{{"refit", row.refit},
                                          {"bytes", summary.bytes},
                                          {"seconds", row.seconds},
                                          {"verdict", row.verdict}});
  }
  JsonValue::Object fields;
  fields.emplace_back("backend", arguments.backend);
  fields.emplace_back("ranks", plan.job.ranks.size());
  fields.emplace_back("bytes", summary.bytes);
  fields.emplace_back("rounds", summary.rounds);
  fields.emplace_back("stagingBytesMax", summary.staging_bytes_max);
  fields.emplace_back("digest", summary.digest);
  fields.emplace_back("refits", std::move(refits));
  Print(JsonReport(fields));
}

void PrintTable(const PlanSummary& summary, const Report& report) {
  TextTable table({{"refit", Alignment::kRight},
                   {"bytes", Alignment::kRight},
                   {"time", Alignment::kRight},
                   {"rate", Alignment::kRight},
                   {"content", Alignment::kLeft}});
  for (const RefitRow& row : report.rows) {
    const bool is_timed = row.seconds > 0;
    table.AddRow({std::to_string(row.refit), BytesText(summary.bytes),
                  is_timed ? SecondsText(row.seconds) : "-",
                  is_timed ? RateText(static_cast<double>(summary.bytes) / row.seconds / 1e9) : "-",
                  row.verdict});
  }
  Print(table.Text());
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};

  Progress progress;
  progress.Begin("reading the plan");
  const Result<LoadedPlan> loaded = LoadPlan(arguments.plan);
  if (!loaded) return tl::unexpected(loaded.error());
  const Plan& plan = loaded->plan;
  const Result<PlanSummary> summary =
      Summarize(plan, loaded->verified, plan.certificate.predicted_seconds);
  if (!summary) return tl::unexpected(summary.error());
  const Result<void> fits = CheckMemory(plan, arguments.plan);
  if (!fits) return fits;

  progress.Begin("preparing the ranks");
  Result<TrialReplay> trial = TrialReplay::Make(plan, {});
  if (!trial) return tl::unexpected(trial.error());
  const Report report = Replay(*trial, arguments, progress);
  progress.End();
  if (arguments.json) {
    PrintJson(*summary, plan, arguments, report);
  } else {
    PrintTable(*summary, report);
  }
  if (report.failure) return tl::unexpected(*report.failure);
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
