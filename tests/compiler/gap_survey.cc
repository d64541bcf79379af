// Surveys how near its bound the planner comes: random refits, seed by seed, then the figures.
//
//   gap_survey [FIRST_SEED [COUNT [SHOWN]]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedules/verifier.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_refit.h"

namespace reshard {
namespace {

struct Surveyed {
  double ratio = 0;  // predicted time over the bound
  std::uint64_t seed = 0;
  std::string text;
};

Surveyed Survey(std::uint64_t seed, const Constants& constants) {
  const RandomRefit refit = MakeRandomRefit(seed);
  const SimulatedCostModel cost_model(refit.cluster, constants);
  const Result<Plan> plan = MakePlan(refit.job, refit.cluster, cost_model);
  if (!plan || !Verify(*plan)) return {1e9, seed, refit.kind + ": no valid plan"};
  const Stages stages = MakeStages(refit.job, refit.cluster);
  const BoundWitness bound = LowerBound(refit.job, plan->demand, refit.cluster, stages.resources,
                                        stages.domains ? &stages.domains->weights : nullptr);
  const SimulationResult simulated = Simulate(*plan, refit.cluster, constants).value();
  const auto busiest = std::ranges::max_element(simulated.resources, {}, &ResourceUse::busy);
  char text[320];
  std::snprintf(
      text, sizeof text, "%-16s %2zu domains %2zu ranks %9.3f ms %4d rounds  %.3f on %s  %s %s",
      refit.kind.c_str(), refit.cluster.domains.size(), refit.job.ranks.size(), bound.seconds * 1e3,
      plan->round_count, busiest->busy * simulated.seconds / bound.seconds, busiest->name.c_str(),
      bound.name.c_str(), bound.description.c_str());
  return {simulated.seconds / bound.seconds, seed, text};
}

double Percentile(const std::vector<Surveyed>& ascending, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(ascending.size()));
  return ascending[std::min(at, ascending.size() - 1)].ratio;
}

int Main(std::uint64_t first, std::uint64_t count, std::size_t shown) {
  const Constants constants = DefaultConstants().value();
  std::vector<Surveyed> all;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    all.push_back(Survey(seed, constants));
  }
  std::ranges::stable_sort(all, {}, &Surveyed::ratio);
  double sum = 0;
  for (const Surveyed& one : all) sum += one.ratio;
  std::printf(
      "%zu refits, predicted time over lower bound: mean %.4f  p50 %.4f  p95 %.4f  p99 %.4f\n",
      all.size(), sum / static_cast<double>(all.size()), Percentile(all, 0.5),
      Percentile(all, 0.95), Percentile(all, 0.99));
  for (std::size_t i = 0; i < std::min(shown, all.size()); ++i) {
    const Surveyed& one = all[all.size() - 1 - i];
    std::printf("%8.4f  seed %4llu  %s\n", one.ratio, static_cast<unsigned long long>(one.seed),
                one.text.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  const auto argument = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return reshard::Main(argument(1, 0), argument(2, 500), argument(3, 20));
}
