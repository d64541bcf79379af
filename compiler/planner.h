// What every planner is: from demand to a schedule. One interface for ours and the baselines.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/job/job.h"
#include "foundation/error.h"
#include "schedules/cost_model.h"
#include "schedules/plan.h"

namespace reshard {

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view Name() const = 0;
  // Fills profiles, columns, transfers, schedules and round_count of `plan`, whose job, demand and
  // programs are there already; or, if all it makes is a simulation-only plan, its traffic
  // (SetTraffic(), baselines/traffic_builder.h). Fails with what the job has that the method cannot
  // express at all; what it cannot express of some tensors stands in Traffic::omissions.
  virtual Result<void> MakeSchedule(const Job& job, const CostModel& cost_model,
                                    Plan& plan) const = 0;
};

// nullptr if there is none of that name.
std::unique_ptr<Planner> MakePlanner(std::string_view name);
std::vector<std::string_view> PlannerNames();

}  // namespace reshard
