#include "simulator/cost_model.h"

#include "simulator/simulate.h"

namespace reshard {

Result<double> SimulatedCostModel::PredictSeconds(const Plan& plan) const {
  return SimulateSeconds(plan, cluster_, constants_);
}

ChannelFacts SimulatedCostModel::Channels() const {
  return {constants_.network_channel_gbps, constants_.channels, constants_.operations_per_channel};
}

std::string SimulatedCostModel::ConstantsDigest() const {
  return reshard::ConstantsDigest(constants_);
}

}  // namespace reshard
