// Thousands of small random jobs through the whole line: demand, plan, proof, file, replay, check.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "foundation/digest.h"
#include "runtime/trial_replay.h"
#include "schedules/plan_codec.h"
#include "simulator/constants.h"
#include "simulator/cost_model.h"
#include "tests/compiler/random_job.h"

namespace reshard {
namespace {

constexpr std::chrono::seconds kDeadline{60};

// The only reason a planner has to refuse a job of the generator: bytes that no link can carry.
bool IsRefusal(const Error& error) {
  return error.fault == Fault::kInput && error.reason.find("bandwidth") != std::string::npos;
}

Job AsJob(RandomJob random, std::uint64_t seed) {
  Job job;
  job.cluster = std::move(random.cluster);
  job.records = std::move(random.job);
  job.canonical_json = "{\"seed\":" + std::to_string(seed) + "}";
  job.digest = DigestHex(job.canonical_json);
  return job;
}

// Compiles (which verifies), goes through the file format, replays twice and checks every byte.
// False if the job was refused, as it may be.
bool PlanAndReplay(const Job& job, HostOptions host) {
  const Result<Constants> constants = DefaultConstants();
  if (!constants) {
    ADD_FAILURE() << ToString(constants.error());
    return false;
  }
  const SimulatedCostModel cost_model(job.cluster, *constants);
  const Result<Compiled> compiled = Compile(job, cost_model);
  if (!compiled) {
    EXPECT_TRUE(IsRefusal(compiled.error())) << ToString(compiled.error());
    return false;
  }
  const Result<std::string> bytes = EncodePlan(compiled->plan);
  if (!bytes) {
    ADD_FAILURE() << ToString(bytes.error());
    return false;
  }
  const Result<Plan> plan = DecodePlan(*bytes, "plan");
  if (!plan) {
    ADD_FAILURE() << ToString(plan.error());
    return false;
  }
  EXPECT_TRUE(*plan == compiled->plan);
  Result<TrialReplay> trial = TrialReplay::Make(*plan, host);
  if (!trial) {
    ADD_FAILURE() << ToString(trial.error());
    return false;
  }
  for (std::uint64_t refit = 1; refit <= 2; ++refit) {
    trial->Fill(refit);
    const Result<double> seconds = trial->Replay(refit, kDeadline);
    EXPECT_TRUE(seconds) << ToString(seconds.error());
    if (!seconds) return true;
    const Result<void> right = trial->Check(refit);
    EXPECT_TRUE(right) << ToString(right.error());
  }
  return true;
}

TEST(RandomRecordsTest, SmallJobsInAnyOrderThePlanAllows) {
  int replayed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (PlanAndReplay(AsJob(MakeRandomJob(seed), seed), {0, seed})) ++replayed;
    if (HasFailure()) return;  // one seed is enough to look at
  }
  EXPECT_GT(replayed, 1800);
}

// Pieces long enough to be split over senders, heads and rounds, on real threads.
TEST(RandomRecordsTest, LongJobsOnWorkers) {
  int replayed = 0;
  for (std::uint64_t seed = 10000; seed < 10100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 70;
    limits.extent = 12;
    RandomJob random = MakeRandomJob(seed, limits);
    if (seed % 3 == 0) random.job.options.chunk_bytes = 128 << 10;
    if (PlanAndReplay(AsJob(std::move(random), seed), {})) ++replayed;
    if (HasFailure()) return;
  }
  EXPECT_GT(replayed, 85);
}

// The same in drawn orders, with chunks so small that every slot is used again and again.
TEST(RandomRecordsTest, ManyRoundsInAnyOrderThePlanAllows) {
  int replayed = 0;
  for (std::uint64_t seed = 20000; seed < 20100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 50;
    RandomJob random = MakeRandomJob(seed, limits);
    random.job.options.chunk_bytes = 8 << 10;
    if (PlanAndReplay(AsJob(std::move(random), seed), {0, seed})) ++replayed;
    if (HasFailure()) return;
  }
  EXPECT_GT(replayed, 85);
}

}  // namespace
}  // namespace reshard
