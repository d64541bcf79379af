#include "simulator/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_plan.h"

namespace reshard {
namespace {

TEST(PreparationTest, YieldsAMachineAndAModelThatFit) {
  const Cluster cluster = SampleCluster(2, 1);
  const SamplePlan sample = SamplePlan(cluster).Send(0, 1, 1024);
  const Result<PreparedReplay> prepared = PrepareReplay(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->model.capacities.size(), prepared->machine.capacities().size());
  EXPECT_EQ(prepared->model.transfers.size(), 1U);
}

// NCCL's default is for methods that leave the NIC to it; `pxn` says whether a plan that chooses
// its NICs runs with it, too.
TEST(PreparationTest, OwnPlansRunWithoutPxnUnlessToldOtherwise) {
  const Cluster cluster = SampleCluster(2, 2);
  Constants constants = FreeConstants();
  const auto is_relayed = [&](std::int64_t pxn, bool is_traffic) {
    constants.pxn = pxn;
    Plan plan = SamplePlan(cluster).plan;
    if (is_traffic) plan.traffic.emplace();
    const Result<Machine> machine = PrepareMachine(plan, cluster, constants);
    return machine->PathBetween(0, 3)->shares.size() > 2;
  };
  EXPECT_FALSE(is_relayed(0, false));
  EXPECT_FALSE(is_relayed(0, true));
  EXPECT_FALSE(is_relayed(kPxnForOthers, false));
  EXPECT_TRUE(is_relayed(kPxnForOthers, true));
  EXPECT_TRUE(is_relayed(kPxnForAll, false));
  EXPECT_TRUE(is_relayed(kPxnForAll, true));
}

// Errors come from the stage that sees them first: cluster, then plan, then what joins them.
TEST(PreparationTest, ErrorsNameTheirPlace) {
  const Cluster cluster = SampleCluster(2, 1);
  SamplePlan sample = SamplePlan(cluster).Send(0, 1, 1024);
  const auto place = [&](const Cluster& on) {
    const Result<PreparedReplay> prepared = PrepareReplay(sample.plan, on, FreeConstants());
    return prepared ? std::string("none") : prepared.error().place;
  };
  Cluster dead = cluster;
  dead.gpus[0].dead = true;
  EXPECT_EQ(place(dead), "cluster: GPU 0");
  sample.plan.transfers[0].to = 5;
  EXPECT_EQ(place(dead), "plan: transfer 0");
  dead.gpus[1].nics = {9};
  EXPECT_EQ(place(dead), "cluster: GPU 1");
}

}  // namespace
}  // namespace reshard
