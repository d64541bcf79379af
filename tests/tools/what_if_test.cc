#include "tools/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// One sender with two NICs' worth of bytes for a GPU in each of two other domains.
constexpr const char* kJob = R"json({
  "cluster": {"types": {"t": {"gpus": 2, "nvlinkGBps": 100, "hbmGBps": 1000,
                              "nics": [{"gpus": [0], "GBps": 10}, {"gpus": [1], "GBps": 10}]}},
              "domains": [{"type": "t", "count": 3}]},
  "model": {"a": {"shape": [4, 1000000], "dtype": "U8"}},
  "source": {"gpus": "0-1", "layout": {"explicit": {"meshes": {"m": {"axes": [["x", 2]]}},
             "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}}},
  "destination": [
    {"gpus": "2-3", "layout": {"explicit": {"meshes": {"m": {"axes": [["x", 2]]}},
     "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}}},
    {"gpus": "4-5", "layout": {"explicit": {"meshes": {"m": {"axes": [["x", 2]]}},
     "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}}}]})json";

class WhatIf : public testing::Test {
 protected:
  void SetUp() override {
    Result<Job> job = ParseJob(kJob, "job");
    ASSERT_TRUE(job) << ToString(job.error());
    const SimulatedCostModel cost_model(job->cluster, constants_);
    Result<Compiled> compiled = Compile(*job, cost_model);
    ASSERT_TRUE(compiled) << ToString(compiled.error());
    plan_ = std::move(compiled->plan);
  }
  Scenario Run(const std::string& edits) const {
    Result<Scenario> scenario = RunScenario(plan_, edits, constants_);
    if (!scenario) {
      ADD_FAILURE() << edits << ": " << ToString(scenario.error());
      return {};
    }
    return std::move(*scenario);
  }

  Constants constants_ = DefaultConstants().value();
  Plan plan_;
};

TEST_F(WhatIf, AnEditThatChangesNothingLeavesAllAsItIs) {
  const Scenario scenario = Run("nic 0*1");
  EXPECT_EQ(scenario.lower_bound_seconds, plan_.certificate.lower_bound.seconds);
  EXPECT_EQ(scenario.old_plan.seconds, plan_.certificate.predicted_seconds);
  EXPECT_EQ(scenario.recompiled.seconds, plan_.certificate.predicted_seconds);
}

TEST_F(WhatIf, RatesScaleBoundAndPlans) {
  // The bound is bytes over NICs: twice the rate, half the time.
  const Scenario faster = Run("nicGBps*2");
  EXPECT_NEAR(*faster.lower_bound_seconds, plan_.certificate.lower_bound.seconds / 2, 1e-12);
  EXPECT_LT(*faster.old_plan.seconds, plan_.certificate.predicted_seconds);
  const Scenario shared = Run("nicShare=0.5");
  const Scenario slower = Run("nicGBps*0.5");
  EXPECT_EQ(shared.lower_bound_seconds, slower.lower_bound_seconds);
  EXPECT_EQ(shared.old_plan.seconds, slower.old_plan.seconds);
}

TEST_F(WhatIf, SaysWhyAPlanCannotRun) {
  const Scenario dead = Run("gpu 5 dead");  // GPUs 4 and 5 are one engine: the other is served
  EXPECT_FALSE(dead.old_plan.seconds);
  EXPECT_EQ(dead.old_plan.reason, "GPU 5 is dead, and rank 5 of the plan sits on it");
  ASSERT_TRUE(dead.recompiled.seconds);
  EXPECT_LE(*dead.recompiled.seconds, plan_.certificate.predicted_seconds);

  const Scenario nobody = Run("gpu 0 dead");
  EXPECT_THAT(nobody.recompiled.reason, HasSubstr("no source rank holds it"));
  EXPECT_FALSE(nobody.lower_bound_seconds);

  const Scenario nic = Run("nic 2=0");
  EXPECT_THAT(nic.old_plan.reason, HasSubstr("GPU 2"));
  EXPECT_TRUE(nic.recompiled.seconds);  // over the NIC and the NVLink beside it

  const Scenario never = Run("domains=7");
  EXPECT_EQ(never.old_plan.reason, never.recompiled.reason);
  EXPECT_EQ(never.old_plan.reason, "edit 'domains=7': 6 GPUs do not divide by 7");
}

// Inside one domain NCCL knows no network peers and gives every peer all channels, whatever the
// plan was compiled for.
TEST_F(WhatIf, TheOldPlanHasTheChannelsOfWhereItsGpusAreNow) {
  const Scenario many = Run("domains=1");
  plan_.channels.channels_per_net_peer = 1;
  EXPECT_GT(*Run("nicGBps*4").old_plan.seconds, 1.5 * *Run("domains=1").old_plan.seconds);
  EXPECT_EQ(Run("domains=1").old_plan.seconds, many.old_plan.seconds);
}

TEST_F(WhatIf, OptionsHoldTheOldPlanToWhatItNeeds) {
  plan_.certificate.staging_bytes_max = std::int64_t{3} << 20;
  const Scenario tight = Run("stagingMiB=2");
  EXPECT_EQ(tight.old_plan.reason, "it needs 3 MiB of staging on a rank, and 2 MiB are allowed");
  EXPECT_TRUE(Run("stagingMiB=3").old_plan.seconds);
  plan_.certificate.peers_max = 2;
  EXPECT_EQ(Run("maxPeers=1").old_plan.reason, "a rank of it has 2 peers, and 1 are allowed");
  plan_.certificate.ops_per_group_max = 2;
  EXPECT_EQ(Run("maxOpsPerGroup=1").old_plan.reason,
            "it has 2 operations in an NCCL group, and 1 are allowed");
}

TEST_F(WhatIf, SlipsInTheEditsAreErrors) {
  EXPECT_EQ(RunScenario(plan_, "nic 99=0", constants_).error().fault, Fault::kUsage);
  EXPECT_EQ(RunScenario(plan_, "nicGBp=0", constants_).error().fault, Fault::kUsage);
}

// The planner does not know of the old plan.
TEST_F(WhatIf, TextSaysWhereTheOldPlanIsTheBetterOne) {
  const std::vector<Scenario> rows = {{"a", 1e-3, "NICs", {2e-3, ""}, {2.02e-3, ""}},
                                      {"b", 1e-3, "NICs", {2e-3, ""}, {2.0005e-3, ""}}};
  const std::string text = ScenarioText("what if", rows);
  EXPECT_THAT(text, EndsWith("\n\na: keep the old plan, the recompiled one takes 1.0 % longer\n"));
}

TEST_F(WhatIf, TextShowsEverySideAndReason) {
  const std::vector<Scenario> rows = {
      UnchangedScenario(plan_, 2e-3),
      {"a", 1e-3, "NICs", {2e-3, ""}, {1.5e-3, ""}},
      {"b", 1e-3, "NICs", {std::nullopt, "old"}, {1.5e-3, ""}},
      {"c", std::nullopt, "", {std::nullopt, "x"}, {std::nullopt, "x"}}};
  const std::string text = ScenarioText("what if", std::span(rows).subspan(1));
  EXPECT_EQ(text,
            "what if  lower bound    old plan      gap  recompiled     gap  what binds\n"
            "a           1.000 ms    2.000 ms  100.0 %    1.500 ms  50.0 %  NICs\n"
            "b           1.000 ms  cannot run             1.500 ms  50.0 %  NICs\n"
            "c                     cannot run           cannot run\n"
            "\n"
            "b, old plan: old\n"
            "c: x\n");
  EXPECT_EQ(rows[0].edits, "unchanged");
}

TEST(SweepText, ListsValues) {
  const Sweep sweep = ParseSweep("nic 3=0,12,24").value();
  EXPECT_EQ(sweep.key, "nic 3");
  EXPECT_EQ(sweep.values, (std::vector<std::string>{"0", "12", "24"}));
  for (const char* text : {"", "a", "=1", "a=", "a=1,,2", "a=1,"}) {
    const Result<Sweep> refused = ParseSweep(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().fault, Fault::kUsage);
  }
}

TEST(DrawSweep, HasAPointPerOutcome) {
  const Sweep sweep{"nicGBps", {"1", "2"}};
  const std::vector<Scenario> scenarios = {
      {"nicGBps=1", 1e-3, "", {2e-3, ""}, {2e-3, ""}},
      {"nicGBps=2", std::nullopt, "", {std::nullopt, "x"}, {2e-3, ""}}};
  const std::string svg = DrawSweep(sweep, scenarios);
  EXPECT_THAT(svg, HasSubstr("<title>lower bound, 1: 1.000 ms</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>old plan, 2: cannot run</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>recompiled, 2: 2.000 ms</title>"));
}

}  // namespace
}  // namespace reshard
