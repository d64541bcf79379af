// The whole way from a job to a proven plan.
#pragma once

#include <functional>
#include <string_view>

#include "compiler/job/job.h"
#include "foundation/error.h"
#include "schedules/cost_model.h"
#include "schedules/plan.h"
#include "schedules/verifier.h"

namespace reshard {

struct CompileReport {
  VerifierReport verified;
  double plan_seconds = 0;  // wall clock of demand, bounds and planning
  double verify_seconds = 0;
  double simulate_seconds = 0;
};

struct Compiled {
  Plan plan;  // verified, its certificate filled
  CompileReport report;
};

// Called with the name of each stage as it begins, for a progress line.
using StageListener = std::function<void(std::string_view stage)>;

// Demand, bounds, planning, lowering; then verification and prediction, which read the plan at the
// same time from two threads.
Result<Compiled> Compile(const Job& job, const CostModel& cost_model,
                         const StageListener& on_stage = {});

}  // namespace reshard
