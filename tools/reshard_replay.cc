// reshard-replay: replays a plan on this machine, with real bytes, and checks where they end up.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/available_memory.h"
#include "runtime/deadline.h"
#include "runtime/mpi/mpi_trial.h"
#include "runtime/mpi/mpi_world.h"
#include "runtime/trial_replay.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/gpu_trial.h"
#include "tools/output_file.h"
#include "tools/plan_loading.h"
#include "tools/plan_summary.h"
#include "tools/progress.h"
#include "tools/replay_report.h"
#include "tools/trace_file.h"
#include "tools/weights_reader.h"
#include "tools/weights_trial.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-replay";
constexpr std::string_view kPurpose =
    "Replays a plan with real bytes: every rank packs, sends, receives and unpacks, in this "
    "process or, started by mpirun or torchrun, each in its own. "
    "The source parameters get made-up values, others for every refit, or a checkpoint's.";
constexpr std::string_view kExample =
    "  reshard-replay tiny-moe.reshard --refits 3 --check\n"
    "  reshard-replay plan.reshard --weights model.safetensors --check --output shards\n"
    "  mpirun -n 16 reshard-replay tiny-moe.reshard --backend mpi --check\n"
    "  torchrun --nnodes 2 --nproc-per-node 8 --no-python reshard-replay tiny-moe.reshard "
    "--backend nccl";

// Nothing but a fault of the program or a machine at a standstill takes longer.
constexpr std::int64_t kDeadlineSeconds = 1800;

struct Arguments {
  std::string plan;
  std::string backend = "host";
  std::optional<std::int64_t> refits = 1;
  std::optional<std::int64_t> deadline_seconds = kDeadlineSeconds;
  std::string trace;
  std::string weights;
  std::string output;
  bool ignore_placement = false;
  bool check = false;
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN", arguments.plan, "the plan");
  command_line.AddChoice("--backend", "NAME", {"host", "mpi", "nccl"}, arguments.backend,
                         "what carries the bytes; host: memory of this process; mpi: MPI, each "
                         "rank a process; nccl: NCCL, each rank a process with a GPU of its own, "
                         "started by mpirun, by torchrun or with its environment variables");
  command_line.AddOption("--refits", "N", arguments.refits, "how often to replay (1)");
  command_line.AddOption("--deadline", "SECONDS", arguments.deadline_seconds,
                         "how long one refit may take (1800)");
  command_line.AddOption("--trace", "FILE", arguments.trace,
                         "write when each step of the last refit ran, for Perfetto and "
                         "reshard-simulate --overlay");
  command_line.AddOption("--weights", "FILE", arguments.weights,
                         "a checkpoint instead of made-up values: a .safetensors file or a "
                         "model.safetensors.index.json");
  command_line.AddOption("--output", "DIR", arguments.output,
                         "write what arrived, DIR/rank-00005.safetensors for each destination "
                         "rank; a new or empty directory");
  command_line.AddFlag("--ignore-placement", arguments.ignore_placement,
                       "of nccl: go on where ranks sit elsewhere than the plan believes");
  command_line.AddFlag("--check", arguments.check,
                       "check every byte of every parameter after each refit, and between "
                       "processes that every fragment's content digest is that of its holders");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the table");
  return command_line.Parse(argc, argv);
}

Result<void> CheckMemory(const Result<std::int64_t>& needed, const std::string& whose,
                         const std::string& path) {
  if (!needed) return tl::unexpected(needed.error());
  const std::optional<std::int64_t> available = AvailableMemoryBytes();
  if (available && *needed > *available) {
    return RunError(path,
                    fmt::format("{} {} for parameters and staging, this machine has {} available",
                                whose, MemoryText(*needed), MemoryText(*available)),
                    "replay a job with fewer or smaller parameters, or on a larger machine");
  }
  return {};
}

// `Trial` is what all backends' trials have: Fill, Replay, Check.
template <typename Trial>
ReplayReport Replay(Trial& trial, const Arguments& arguments, Progress& progress) {
  ReplayReport report;
  for (std::int64_t i = 1; i <= *arguments.refits; ++i) {
    const auto refit = static_cast<std::uint64_t>(i);
    progress.Begin(fmt::format("refit {}: filling parameters", refit));
    trial.Fill(refit);
    progress.Begin(fmt::format("refit {}: replaying", refit));
    const Result<double> seconds = trial.Replay(refit, BoundedSeconds(*arguments.deadline_seconds));
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
  progress.End();
  return report;
}

// Of all ranks, or of one of them; the trace, which they put together, is written where
// `writes_trace`.
template <typename Trial>
Result<ReplayReport> ReplayAndTrace(Trial& trial, const Plan& plan, const Arguments& arguments,
                                    Progress& progress, bool writes_trace = true) {
  if (arguments.trace.empty()) return Replay(trial, arguments, progress);
  if (Result<void> kept = trial.RecordSteps(); !kept) return tl::unexpected(kept.error());
  ReplayReport report = Replay(trial, arguments, progress);
  if (report.failure) return report;
  const Result<std::vector<StepTime>> steps = trial.StepTimes();
  if (!steps) return tl::unexpected(steps.error());
  if (!writes_trace) return report;
  Result<WrittenTrace> trace = WriteMeasuredTrace(arguments.trace, plan, *steps);
  if (!trace) return tl::unexpected(trace.error());
  report.trace = *std::move(trace);
  return report;
}

Result<ReplayReport> ReplayWeights(const Plan& plan, const Arguments& arguments,
                                   Progress& progress) {
  Result<WeightsReader> reader = WeightsReader::Open(arguments.weights);
  if (!reader) return tl::unexpected(reader.error());
  const Result<void> there = WeightsTrial::CheckTensors(plan, *reader);
  if (!there) return tl::unexpected(there.error());
  progress.Begin("preparing the ranks");
  Result<WeightsTrial> trial = WeightsTrial::Make(plan, *std::move(reader), {});
  if (!trial) return tl::unexpected(trial.error());
  Result<ReplayReport> report = ReplayAndTrace(*trial, plan, arguments, progress);
  if (!report || report->failure || arguments.output.empty()) return report;
  progress.Begin("writing the shards");
  Result<WrittenShards> shards = trial->Write(arguments.output);
  progress.End();
  if (!shards) return tl::unexpected(shards.error());
  report->shards = *std::move(shards);
  return report;
}

Result<ReplayReport> ReplayInThisProcess(const Plan& plan, const Arguments& arguments,
                                         Progress& progress) {
  const Result<void> fits =
      CheckMemory(TrialReplay::BytesNeeded(plan), "its ranks need", arguments.plan);
  if (!fits) return tl::unexpected(fits.error());
  if (!arguments.weights.empty()) return ReplayWeights(plan, arguments, progress);
  progress.Begin("preparing the ranks");
  Result<TrialReplay> trial = TrialReplay::Make(plan, {});
  if (!trial) return tl::unexpected(trial.error());
  return ReplayAndTrace(*trial, plan, arguments, progress);
}

// Says before the work begins what would keep the trace from being written.
Result<void> CheckTrace(const Arguments& arguments) {
  if (arguments.trace.empty()) return {};
  return CheckOutputPaths(std::vector<std::string>{arguments.trace},
                          std::vector<std::string>{arguments.plan, arguments.weights});
}

Result<void> CheckPlacement(const Arguments& arguments) {
  if (!arguments.ignore_placement || arguments.backend == "nccl") return {};
  return UsageError(
      "--ignore-placement: the backend " + arguments.backend + " compares no placement",
      "leave it out, or use --backend nccl");
}

Result<void> CheckWeights(const Arguments& arguments) {
  if (arguments.weights.empty()) {
    if (arguments.output.empty()) return {};
    return UsageError("--output: made-up values are written nowhere",
                      "give a checkpoint with --weights");
  }
  if (arguments.backend != "host") {
    return UsageError("--weights: the backend " + arguments.backend + " reads no checkpoint",
                      "use --backend host");
  }
  return arguments.output.empty() ? Result<void>() : CheckShardFolder(arguments.output);
}

Result<ReplayReport> ReplayOneRank(const Plan& plan, const MpiWorld& world,
                                   const Arguments& arguments, Progress& progress) {
  if (static_cast<std::size_t>(world.size()) != plan.job.ranks.size()) {
    return UsageError(fmt::format("{} has {} ranks, processes started: {}", arguments.plan,
                                  plan.job.ranks.size(), world.size()),
                      fmt::format("run it under mpirun -n {}", plan.job.ranks.size()));
  }
  const Result<void> fits = CheckMemory(MpiTrial::BytesNeeded(plan, world.rank()),
                                        fmt::format("rank {} needs", world.rank()), arguments.plan);
  if (!fits) return tl::unexpected(fits.error());
  Result<MpiTrial> trial = MpiTrial::Make(plan, world, BoundedSeconds(*arguments.deadline_seconds));
  if (!trial) return tl::unexpected(trial.error());
  return ReplayAndTrace(*trial, plan, arguments, progress, world.rank() == 0);
}

// The report of every rank; whether this one is rank 0 goes to `speaks`.
Result<ReplayReport> ReplayOnGpu(const Plan& plan, const MpiWorld* world,
                                 const Arguments& arguments, Progress& progress, bool& speaks) {
  const std::chrono::nanoseconds deadline = BoundedSeconds(*arguments.deadline_seconds);
  progress.Begin("meeting the other ranks");
  Result<GpuTrial> trial = GpuTrial::Make(plan, world, deadline, !arguments.ignore_placement);
  if (!trial) return tl::unexpected(trial.error());
  speaks = trial->rank() == 0;
  return ReplayAndTrace(*trial, plan, arguments, progress, speaks);
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};

  if (Result<void> fine = CheckTrace(arguments); !fine) return fine;
  if (Result<void> fine = CheckPlacement(arguments); !fine) return fine;
  if (Result<void> fine = CheckWeights(arguments); !fine) return fine;
  std::optional<MpiWorld> world;
  // torchrun's variables win: whoever sets them says where the ranks are.
  const bool meets_over_mpi =
      arguments.backend == "nccl" && MpiWorld::IsLaunched() && std::getenv("RANK") == nullptr;
  if (arguments.backend == "mpi" || meets_over_mpi) {
    const Result<MpiWorld> started = MpiWorld::Start();
    if (!started) return tl::unexpected(started.error());
    world = *started;
  }
  Progress progress;
  progress.Begin("reading the plan");
  const Result<LoadedPlan> loaded = LoadPlan(arguments.plan);
  if (!loaded) return tl::unexpected(loaded.error());
  const Plan& plan = loaded->plan;
  if (plan.traffic) {
    return InputError(arguments.plan,
                      fmt::format("is a simulation-only plan of planner '{}', which has nothing to "
                                  "replay",
                                  plan.job.options.planner),
                      "compile the job with --planner optimal");
  }
  const Result<PlanSummary> summary =
      Summarize(plan, loaded->verified, plan.certificate.predicted_seconds);
  if (!summary) return tl::unexpected(summary.error());
  bool speaks = !world || world->rank() == 0;
  const Result<ReplayReport> report =
      arguments.backend == "nccl"
          ? ReplayOnGpu(plan, world ? &*world : nullptr, arguments, progress, speaks)
      : world ? ReplayOneRank(plan, *world, arguments, progress)
              : ReplayInThisProcess(plan, arguments, progress);
  if (!report) return tl::unexpected(report.error());
  if (speaks) {
    Print(arguments.json ? JsonText(*report, *summary, arguments.backend, plan.job.ranks.size())
                         : TableText(*report, *summary));
  }
  if (report->failure) return tl::unexpected(*report->failure);
  if (world) world->Finish();
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  const int status =
      reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
  // Nothing of MPI may wait for ranks that are gone.
  if (status != 0 && reshard::MpiWorld::IsRunning()) {
    std::fflush(nullptr);
    _exit(status);
  }
  return status;
}
