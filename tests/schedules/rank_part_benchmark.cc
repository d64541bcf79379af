// How long a rank takes to read its part of a plan file: rank_part_benchmark PLAN.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "foundation/error.h"
#include "schedules/plan_codec.h"

namespace reshard {
namespace {

void ReadPart(benchmark::State& state, const std::string& path, RankIndex rank) {
  for (auto unused : state) {
    Result<RankPart> part = ReadRankPart(path, rank);
    if (!part) return state.SkipWithError(ToString(part.error()).c_str());
    benchmark::DoNotOptimize(part);
  }
}

// Four ranks spread over the plan: those of the source and of the destination have parts of their
// own kind.
bool RegisterFor(const std::string& path) {
  const Result<Plan> plan = ReadPlanFile(path);
  if (!plan) {
    std::fprintf(stderr, "rank_part_benchmark: error: %s\n", ToString(plan.error()).c_str());
    return false;
  }
  const auto ranks = static_cast<RankIndex>(plan->job.ranks.size());
  for (RankIndex quarter = 0; quarter < 4; ++quarter) {
    const RankIndex rank = ranks * (2 * quarter + 1) / 8;
    benchmark::RegisterBenchmark(
        ("rank " + std::to_string(rank)).c_str(),
        [path, rank](benchmark::State& state) { ReadPart(state, path, rank); })
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: rank_part_benchmark [--benchmark_..] PLAN\n", stderr);
    return 2;
  }
  if (!reshard::RegisterFor(argv[1])) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
