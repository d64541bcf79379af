#include "compiler/planner.h"

#include <algorithm>
#include <iterator>

#include "compiler/baselines/alpa_planner.h"
#include "compiler/baselines/awex_planner.h"
#include "compiler/baselines/broadcast_planner.h"
#include "compiler/baselines/direct_planner.h"
#include "compiler/baselines/m2n_planner.h"
#include "compiler/baselines/megatron_planner.h"
#include "compiler/baselines/nemo_planner.h"
#include "compiler/baselines/packed_planner.h"
#include "compiler/planning/optimal_planner.h"

namespace reshard {
namespace {

template <typename Made>
std::unique_ptr<Planner> Make() {
  return std::make_unique<Made>();
}

struct KnownPlanner {
  std::string_view name;
  std::unique_ptr<Planner> (*make)();
};

// Ours, then the baselines by name.
constexpr KnownPlanner kPlanners[] = {
    {"optimal", Make<OptimalPlanner>},   {"alpa", Make<AlpaPlanner>},
    {"awex", Make<AwexPlanner>},         {"broadcast", Make<BroadcastPlanner>},
    {"direct", Make<DirectPlanner>},     {"m2n", Make<M2nPlanner>},
    {"megatron", Make<MegatronPlanner>}, {"nemo", Make<NemoPlanner>},
    {"packed", Make<PackedPlanner>},
};

}  // namespace

std::unique_ptr<Planner> MakePlanner(std::string_view name) {
  const auto* const found = std::ranges::find(kPlanners, name, &KnownPlanner::name);
  return found == std::end(kPlanners) ? nullptr : found->make();
}

std::vector<std::string_view> PlannerNames() {
  std::vector<std::string_view> names;
  for (const KnownPlanner& planner : kPlanners) names.push_back(planner.name);
  return names;
}

}  // namespace reshard
