#include "simulator/cost_model.h"

#include <gtest/gtest.h>

#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

TEST(CostModelTest, PredictsExactlyWhatTheSimulationSays) {
  Cluster cluster = SampleCluster(3, 2);
  for (Domain& domain : cluster.domains) domain.network_latency_us = 14;
  SamplePlan sample(cluster);
  for (RankIndex from = 0; from < 6; ++from) {
    for (RankIndex to = 0; to < 6; ++to) {
      if (from != to) sample.Send(from, to, 16 * 3000 * (1 + from + to), from % 3, 4, true, true);
    }
  }
  const Constants constants = *DefaultConstants();
  const SimulatedCostModel model(cluster, constants);
  const Result<double> predicted = model.PredictSeconds(sample.plan);
  const Result<SimulationResult> simulated = Simulate(sample.plan, cluster, constants);
  ASSERT_TRUE(predicted && simulated);
  EXPECT_EQ(*predicted, simulated->seconds);
  EXPECT_EQ(*model.PredictSeconds(sample.plan), *predicted);
  EXPECT_EQ(model.ConstantsDigest(), ConstantsDigest(constants));
}

TEST(CostModelTest, ErrorsComeThrough) {
  Cluster cluster = SampleCluster(2, 1);
  const SamplePlan sample = SamplePlan(cluster).Send(0, 1, 1024);
  cluster.nics[0].gbps = 0;
  const Result<double> predicted =
      SimulatedCostModel(cluster, *DefaultConstants()).PredictSeconds(sample.plan);
  ASSERT_FALSE(predicted);
  EXPECT_EQ(predicted.error().place, "cluster: GPU 0");
}

}  // namespace
}  // namespace reshard
