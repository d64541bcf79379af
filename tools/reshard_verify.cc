// reshard-verify: proves a plan from its file alone, and on demand that it is a given job's plan.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "compiler/job/job.h"
#include "foundation/error.h"
#include "schedules/number_text.h"
#include "schedules/plan.h"
#include "schedules/verifier.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/plan_loading.h"
#include "tools/plan_summary.h"
#include "tools/progress.h"
#include "tools/stopwatch.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-verify";
constexpr std::string_view kPurpose =
    "Proves from the plan file alone that every byte arrives once, in time, within the limits.";
constexpr std::string_view kExample =
    "  reshard-verify tiny-moe.reshard --job schedules/reference/tiny-moe.job.json";

struct Arguments {
  std::string plan;
  std::string job;
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN", arguments.plan, "the plan");
  command_line.AddOption("--job", "JOB", arguments.job, "demand that the plan is this job's");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the table");
  return command_line.Parse(argc, argv);
}

// The embedded text is that of the job the user means.
Result<void> CheckJob(const Arguments& arguments, const Plan& plan) {
  const Result<Job> job = ReadJob(arguments.job);
  if (!job) return tl::unexpected(job.error());
  if (job->canonical_json == plan.job_json) return {};
  return InputError(arguments.plan,
                    fmt::format("is the plan of another job: digest {}, that of {} is {}",
                                plan.job_digest, arguments.job, job->digest),
                    "compile the job again");
}

void PrintVerdict(const Arguments& arguments, const LoadedPlan& loaded,
                  const PlanSummary& summary) {
  const VerifierReport& verified = loaded.verified;
  if (arguments.json) {
    JsonValue::Object fields;
    fields.emplace_back("verified", true);
    AppendFields(summary, fields);
    fields.emplace_back("networkBytes", verified.network_bytes);
    fields.emplace_back("nvlinkBytes", verified.nvlink_bytes);
    fields.emplace_back("fileBytes", loaded.file_bytes);
    fields.emplace_back("digest", summary.digest);
    fields.emplace_back("verifySeconds", loaded.verify_seconds);
    Print(JsonReport(fields));
    return;
  }
  const Options& options = loaded.plan.job.options;
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"plan", fmt::format("{}, {}", arguments.plan, BytesText(loaded.file_bytes))});
  const bool is_simulated = loaded.plan.traffic.has_value();
  table.AddRow(
      {"verdict", is_simulated
                      ? "simulation-only: complete in bytes; staging and operations as they are"
                      : "proven: complete, paired, ordered, free of deadlock, within limits"});
  table.AddRow(
      {"bytes", is_simulated
                    ? fmt::format("{} of {} arrive where they are needed",
                                  BytesText(summary.bytes - OmittedBytes(*loaded.plan.traffic)),
                                  BytesText(summary.bytes))
                    : fmt::format("every byte of {} arrives where it is needed, once",
                                  BytesText(summary.bytes))});
  table.AddRow(
      {"sent", fmt::format("{} between domains, {} inside them", BytesText(verified.network_bytes),
                           BytesText(verified.nvlink_bytes))});
  const auto limited = [&](const std::string& amount, const std::string& limit) {
    return summary.is_limited ? amount + " of " + limit : amount;
  };
  table.AddRow({"staging", fmt::format("{} on rank {}, which needs most",
                                       limited(MemoryText(verified.staging_bytes_max),
                                               MemoryText(options.staging_bytes)),
                                       verified.staging_rank)});
  table.AddRow({"operations", limited(CountText(verified.ops_per_group_max),
                                      CountText(options.max_ops_per_group)) +
                                  " in an NCCL group"});
  table.AddRow({"peers", CountText(verified.peers_max) + " a rank"});
  table.AddRow({"channels", ChannelText(summary.channels)});
  table.AddRow({"digest", summary.digest});
  if (!arguments.job.empty()) table.AddRow({"job", arguments.job + " is the one embedded"});
  table.AddRow({"spent", SecondsText(loaded.verify_seconds)});
  Print(table.Text());
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};

  Progress progress;
  progress.Begin("verifying");
  const Result<LoadedPlan> loaded = LoadPlan(arguments.plan);
  if (!loaded) return tl::unexpected(loaded.error());
  if (const Result<void> held = VerifyCertificate(loaded->plan, loaded->verified); !held) {
    Error error = held.error();
    error.place = arguments.plan + ": " + error.place;
    return tl::unexpected(std::move(error));
  }
  progress.Begin("reading the embedded job");
  if (Result<void> same = CheckEmbeddedJob(loaded->plan, arguments.plan); !same) return same;
  if (!arguments.job.empty()) {
    progress.Begin("reading the job");
    if (Result<void> same = CheckJob(arguments, loaded->plan); !same) return same;
  }
  const Result<PlanSummary> summary =
      Summarize(loaded->plan, loaded->verified, loaded->plan.certificate.predicted_seconds);
  if (!summary) return tl::unexpected(summary.error());
  progress.End();
  PrintVerdict(arguments, *loaded, *summary);
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
