// Plan files as the commands that read them want them: decoded, proven, measured.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/verifier.h"
#include "topology/cluster.h"

namespace reshard {

struct LoadedPlan {
  Plan plan;  // has passed Verify()
  VerifierReport verified;
  std::int64_t file_bytes = 0;
  double verify_seconds = 0;
};

// Reads and verifies. Errors name the file.
Result<LoadedPlan> LoadPlan(const std::string& path);

// The cluster of the job embedded in `plan`. `path` names the plan in errors.
Result<Cluster> EmbeddedCluster(const Plan& plan, const std::string& path);

// Fails unless the records of `plan`, which all proofs are about, are what the job embedded beside
// them reads as. `path` names the plan in errors.
Result<void> CheckEmbeddedJob(const Plan& plan, const std::string& path);

// Whether the file at `path` is JSON, hence a job, and no plan: told by its first character.
Result<bool> HoldsJson(const std::string& path);

}  // namespace reshard
