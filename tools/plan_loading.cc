#include "tools/plan_loading.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "compiler/job/job.h"
#include "schedules/plan_codec.h"
#include "tools/stopwatch.h"

namespace reshard {

Result<LoadedPlan> LoadPlan(const std::string& path) {
  Result<Plan> plan = ReadPlanFile(path);
  if (!plan) return tl::unexpected(plan.error());
  const Stopwatch stopwatch;
  const Result<VerifierReport> verified = Verify(*plan);
  if (!verified) {
    Error error = verified.error();
    error.place = error.place.empty() ? path : path + ": " + error.place;
    return tl::unexpected(std::move(error));
  }
  std::error_code failed;
  const std::uintmax_t file_bytes = std::filesystem::file_size(path, failed);
  if (failed) return InputError(path, "its size cannot be read: " + failed.message());
  return LoadedPlan{std::move(*plan), *verified, static_cast<std::int64_t>(file_bytes),
                    stopwatch.Seconds()};
}

Result<Cluster> EmbeddedCluster(const Plan& plan, const std::string& path) {
  Result<Job> job = ParseJob(plan.job_json, path + ": embedded job");
  if (!job) return tl::unexpected(job.error());
  return std::move(job->cluster);
}

Result<void> CheckEmbeddedJob(const Plan& plan, const std::string& path) {
  const Result<Job> job = ParseJob(plan.job_json, path + ": embedded job");
  if (!job) return tl::unexpected(job.error());
  if (job->records == plan.job) return {};
  return InputError(path, "its records are not those of the job it embeds",
                    "compile the job again");
}

Result<bool> HoldsJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return InputError(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  char first = 0;
  file >> first;  // skips white space
  if (file.bad()) return InputError(path, "cannot be read", "name a plan or a job");
  if (file.eof()) return InputError(path, "is empty", "name a plan or a job");
  return first == '{';
}

}  // namespace reshard
