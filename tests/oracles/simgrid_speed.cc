// How much faster the flow engine is than SimGrid on flows that all run at the same time:
// simgrid_speed [FLOWS [NICS]]. Times are of the processor, without what SimGrid's platform takes
// to be set up.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "engine_ends.h"
#include "simgrid_oracle.h"

namespace reshard {
namespace {

constexpr int kLeast = 2;
constexpr int kMostFlows = 20'000;

// All begin at 0, each from some NIC to some other; a quarter of them is capped.
OracleSet MakeSet(int flows, int nics) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  OracleSet set;
  set.link_rates.assign(static_cast<std::size_t>(2 * nics), 48e9);
  for (int f = 0; f < flows; ++f) {
    OracleFlow& flow = set.flows.emplace_back();
    const auto count = static_cast<std::uint64_t>(nics);
    flow.links = {static_cast<int>(below(count)), static_cast<int>(count + below(count))};
    flow.bytes = 1'000'000 * (1 + below(2000));
    if (below(4) == 0) flow.cap = 13.5e9;
  }
  return set;
}

int Compare(int flows, int nics) {
  const OracleSet set = MakeSet(flows, nics);
  double simgrid_seconds = 0;
  const std::vector<double> expected = EndsBySimGrid({&set, 1}, &simgrid_seconds).front();
  // Often enough to be measured.
  constexpr int kRuns = 5;
  std::vector<double> ends;
  const std::clock_t begin = std::clock();
  for (int run = 0; run < kRuns; ++run) ends = EndsByEngine(set);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / kRuns;
  double difference = 0;
  for (std::size_t f = 0; f < ends.size(); ++f) {
    difference = std::max(difference, std::abs(ends[f] / expected[f] - 1));
  }
  std::printf("flows               %d over %d NICs, all at the same time\n", flows, nics);
  std::printf("SimGrid             %.3f s\n", simgrid_seconds);
  std::printf("flow engine         %.4f s\n", seconds);
  std::printf("ratio               %.0fx\n", simgrid_seconds / seconds);
  std::printf("largest difference  %.2g of a flow's end\n", difference);
  return difference <= 1e-3 ? 0 : 1;
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  const int flows = argc > 1 ? std::atoi(argv[1]) : 3000;
  const int nics = argc > 2 ? std::atoi(argv[2]) : 256;
  if (argc > 3 || flows < reshard::kLeast || flows > reshard::kMostFlows ||
      nics < reshard::kLeast || nics > reshard::kMostFlows) {
    std::fputs("usage: simgrid_speed [FLOWS [NICS]]\n", stderr);
    return 2;
  }
  return reshard::Compare(flows, nics);
}
