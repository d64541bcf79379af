#include "compiler/compile.h"

#include <chrono>
#include <functional>
#include <future>
#include <limits>
#include <string>
#include <utility>

#include "compiler/bounds/bounds.h"
#include "compiler/bounds/rank_resources.h"
#include "compiler/demand/demand_builder.h"
#include "compiler/planner.h"
#include "compiler/planning/channel_choice.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"

namespace reshard {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename T>
struct Timed {
  Result<T> result;
  double seconds = 0;  // wall clock
};

template <typename T>
Timed<T> TimedCall(const std::function<Result<T>()>& call) {
  const auto start = std::chrono::steady_clock::now();
  Result<T> result = call();
  return {std::move(result), SecondsSince(start)};
}

Result<std::unique_ptr<Planner>> PlannerOf(const Options& options) {
  std::unique_ptr<Planner> planner = MakePlanner(options.planner);
  if (planner) return planner;
  std::string known;
  for (const std::string_view name : PlannerNames()) {
    if (!known.empty()) known += ", ";
    known += name;
  }
  return InputError("options.planner", "there is no planner '" + options.planner + "'",
                    "use one of: " + known);
}

// What is wrong with a plan that failed its proof. Where it is only that no schedule was found
// within the user's limits, the options that set them: a limit is planned for, but some it cannot
// meet.
Error WhyRefused(Plan plan, Error broken) {
  const Options limits = plan.job.options;
  plan.job.options.max_ops_per_group = std::numeric_limits<std::int64_t>::max();
  plan.job.options.max_peers = 0;
  const Result<VerifierReport> verified = Verify(plan);
  if (!verified) return broken;
  const auto too_low = [](const std::string& option, const std::string& needs, std::int64_t found,
                          std::int64_t limit) {
    return Error{Fault::kInput, option,
                 "the plan found has " + std::to_string(found) + " " + needs +
                     " on some rank, the limit is " + std::to_string(limit),
                 "raise " + option};
  };
  if (verified->ops_per_group_max > limits.max_ops_per_group) {
    return too_low("options.maxOpsPerGroup", "operations in an NCCL group",
                   verified->ops_per_group_max, limits.max_ops_per_group);
  }
  if (limits.max_peers > 0 && verified->peers_max > limits.max_peers) {
    return too_low("options.maxPeers", "peers", verified->peers_max, limits.max_peers);
  }
  return broken;
}

}  // namespace

Result<Compiled> Compile(const Job& job, const CostModel& cost_model,
                         const StageListener& on_stage) {
  const auto announce = [&on_stage](std::string_view stage) {
    if (on_stage) on_stage(stage);
  };
  Result<std::unique_ptr<Planner>> planner = PlannerOf(job.records.options);
  if (!planner) return tl::unexpected(planner.error());

  Compiled compiled;
  Plan& plan = compiled.plan;
  const auto start = std::chrono::steady_clock::now();
  plan.job_json = job.canonical_json;
  plan.job_digest = job.digest;
  plan.job = job.records;
  plan.notices = job.notices;
  announce("demand");
  Result<Demand> demand = BuildDemand(plan.job);
  if (!demand) return tl::unexpected(demand.error());
  plan.demand = *std::move(demand);
  plan.programs = BuildPrograms(plan.job, plan.demand);
  announce("bounds");
  Result<RankResources> resources = MakeRankResources(plan.job, job.cluster);
  if (!resources) return tl::unexpected(resources.error());
  const std::optional<DomainAssignment> domains = AssignDomains(
      FindDeliveries(plan.job, plan.demand, plan.programs, *resources), plan.demand, *resources);
  plan.certificate.lower_bound = LowerBound(plan.job, plan.demand, job.cluster, *resources,
                                            domains ? &domains->weights : nullptr);
  announce("plan");
  if (Result<void> made = (*planner)->MakeSchedule(job, cost_model, plan); !made) {
    return tl::unexpected(made.error());
  }
  if (plan.traffic) plan.channels = ChannelsByNccl(*resources, cost_model.Channels());
  compiled.report.plan_seconds = SecondsSince(start);

  announce("verify, simulate");
  // Both read the plan only. What either throws, memory running out, comes out here: the future
  // waits for its thread before the plan goes.
  std::future<Timed<double>> simulation = std::async(std::launch::async, [&] {
    return TimedCall<double>([&] { return cost_model.PredictSeconds(plan); });
  });
  const auto verification = TimedCall<VerifierReport>([&] { return Verify(plan); });
  const Timed<double> prediction = simulation.get();
  const Result<VerifierReport>& verified = verification.result;
  if (!verified) return tl::unexpected(WhyRefused(std::move(plan), verified.error()));
  const Result<double>& seconds = prediction.result;
  if (!seconds) return tl::unexpected(seconds.error());
  compiled.report.verified = *verified;
  compiled.report.verify_seconds = verification.seconds;
  compiled.report.simulate_seconds = prediction.seconds;

  plan.certificate.predicted_seconds = *seconds;
  plan.certificate.constants_digest = cost_model.ConstantsDigest();
  plan.certificate.staging_bytes_max = verified->staging_bytes_max;
  plan.certificate.ops_per_group_max = verified->ops_per_group_max;
  plan.certificate.peers_max = verified->peers_max;
  return compiled;
}

}  // namespace reshard
