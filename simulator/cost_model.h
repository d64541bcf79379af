// The simulator as a compiler sees it.
#pragma once

#include <string>
#include <utility>

#include "schedules/cost_model.h"
#include "simulator/constants.h"
#include "topology/cluster.h"

namespace reshard {

// Predicts by simulation on a cluster of its own: PredictSeconds(plan) is exactly what
// Simulate(plan, cluster, constants) says. Safe to call from several threads.
class SimulatedCostModel final : public CostModel {
 public:
  SimulatedCostModel(Cluster cluster, const Constants& constants)
      : cluster_(std::move(cluster)), constants_(constants) {}

  Result<double> PredictSeconds(const Plan& plan) const override;
  ChannelFacts Channels() const override;
  std::string ConstantsDigest() const override;

 private:
  Cluster cluster_;
  Constants constants_;
};

}  // namespace reshard
