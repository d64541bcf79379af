// From a plan and a cluster to what the replay runs.
#pragma once

#include "foundation/error.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/machine.h"
#include "simulator/replay_model.h"
#include "topology/cluster.h"

namespace reshard {

struct PreparedReplay {
  Machine machine;
  ReplayModel model;
};

// The machine of a simulation-only plan, whose traffic needs no model. Fails as PrepareReplay().
Result<Machine> PrepareMachine(const Plan& plan, const Cluster& cluster,
                               const Constants& constants);

// Everything that can be wrong with a plan or a cluster is found here, except waits that never end.
// A simulation-only plan is refused. The result keeps a reference to `cluster`.
Result<PreparedReplay> PrepareReplay(const Plan& plan, const Cluster& cluster,
                                     const Constants& constants);

}  // namespace reshard
