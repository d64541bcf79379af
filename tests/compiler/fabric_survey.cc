// Surveys how near its bound the planner comes on fabrics that limit traffic: per kind of fabric,
// refits seed by seed whose bound is 20 ms or more.
//
//   fabric_survey [FIRST_SEED [COUNT [SHOWN [KIND]]]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "schedules/verifier.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"
#include "tests/compiler/fabric_flow_oracle.h"
#include "tests/compiler/fabric_refit.h"
#include "tests/compiler/planned_job.h"

namespace reshard {
namespace {

constexpr double kLeastSeconds = 0.02;

struct Surveyed {
  double ratio = 0;   // predicted time over the bound
  double excess = 0;  // over the optimum of traffic between domains or the bound, what is more
  std::string text;
};

Surveyed Survey(std::string_view kind, std::uint64_t seed, const Constants& constants) {
  const RandomRefit refit = MakeFabricRefit(kind, seed);
  const SimulatedCostModel cost_model(refit.cluster, constants);
  const Stages stages = MakeStages(refit.job, refit.cluster);
  const double optimum = FabricFlowOptimumSeconds(refit.job, stages.plan.demand, refit.cluster);
  const BoundWitness bound =
      LowerBound(refit.job, stages.plan.demand, refit.cluster, stages.resources,
                 stages.domains ? &stages.domains->weights : nullptr);
  if (bound.seconds < kLeastSeconds) return {0, 0, ""};
  const std::string head = "seed " + std::to_string(seed) + ", " + refit.kind + ": ";
  if (optimum < 0) return {-1, 0, head + "cannot be"};
  const Result<Plan> plan = MakePlan(refit.job, refit.cluster, cost_model);
  if (!plan) return {1e8, 1e8, head + ToString(plan.error())};
  if (const auto verified = Verify(*plan); !verified)
    return {1e9, 1e9, head + "not valid: " + ToString(verified.error())};
  const Result<SimulationResult> simulation = Simulate(*plan, refit.cluster, constants);
  if (!simulation) return {1e9, 1e9, head + ToString(simulation.error())};
  const SimulationResult& simulated = *simulation;
  const auto busiest = std::ranges::max_element(simulated.resources, {}, &ResourceUse::busy);
  char text[400];
  std::snprintf(text, sizeof text,
                "%s %zu domains %zu ranks %.3f ms %d rounds  optimum %.3f busiest %.3f %s  %s %s",
                head.c_str(), refit.cluster.domains.size(), refit.job.ranks.size(),
                bound.seconds * 1e3, plan->round_count, optimum / bound.seconds,
                busiest->busy * simulated.seconds / bound.seconds, busiest->name.c_str(),
                bound.name.c_str(), bound.description.c_str());
  return {simulated.seconds / bound.seconds, simulated.seconds / std::max(bound.seconds, optimum),
          text};
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

int Main(std::uint64_t first, std::uint64_t count, std::size_t shown, const std::string& only) {
  const Constants constants = DefaultConstants().value();
  std::printf(
      "kind               refits  p50     p90     max    within 10%%  over optimum p90   max   "
      "refused\n");
  for (const std::string& kind : FabricKinds()) {
    if (!only.empty() && kind != only) continue;
    std::vector<Surveyed> all;
    std::vector<double> ratios, excesses;
    int refused = 0, within = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      Surveyed one = Survey(kind, seed, constants);
      if (one.ratio == 0) continue;
      if (one.ratio > 1e7) ++refused;
      if (one.ratio > 0 && one.ratio < 1e7) {
        ratios.push_back(one.ratio);
        excesses.push_back(one.excess);
        within += one.ratio <= 1.1 ? 1 : 0;
      }
      all.push_back(std::move(one));
    }
    std::printf("%-18s %6zu  %.3f  %.3f  %6.3f  %5d            %.3f  %.3f  %d\n", kind.c_str(),
                ratios.size(), Quantile(ratios, 0.5), Quantile(ratios, 0.9), Quantile(ratios, 1),
                within, Quantile(excesses, 0.9), Quantile(excesses, 1), refused);
    std::ranges::stable_sort(all, {}, &Surveyed::ratio);
    for (std::size_t i = 0; i < std::min(shown, all.size()); ++i) {
      const Surveyed& one = all[all.size() - 1 - i];
      std::printf("   %8.4f %8.4f %s\n", one.ratio, one.excess, one.text.c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  const auto argument = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return reshard::Main(argument(1, 0), argument(2, 40), argument(3, 3), argc > 4 ? argv[4] : "");
}
