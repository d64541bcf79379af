// Compiled plans over the NCCL backend on the doubles: the reference tiny job and random ones, in
// any order their graphs allow, every byte checked.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/job/edit_text.h"
#include "compiler/job/job.h"
#include "compiler/job/job_edit.h"
#include "foundation/digest.h"
#include "simulator/constants.h"
#include "simulator/cost_model.h"
#include "tests/compiler/random_job.h"
#include "tests/doubles/controls.h"
#include "tests/doubles/nccl_world.h"
#include "tests/runtime/nccl/gpu_team.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

using namespace std::chrono_literals;

std::optional<Plan> CompileJob(const Job& job) {
  const Result<Constants> constants = DefaultConstants();
  EXPECT_TRUE(constants);
  if (!constants) return std::nullopt;
  const SimulatedCostModel cost_model(job.cluster, *constants);
  Result<Compiled> compiled = Compile(job, cost_model);
  // A random job may need bytes that no link can carry.
  if (!compiled) return std::nullopt;
  return std::move(compiled->plan);
}

Job RandomJobOf(std::uint64_t seed, std::int64_t chunk_bytes, std::int64_t long_tensors) {
  RandomJobLimits limits;
  limits.ranks = 8;
  limits.long_tensors = long_tensors;
  RandomJob random = MakeRandomJob(seed, limits);
  random.job.options.chunk_bytes = chunk_bytes;
  Job job;
  job.cluster = std::move(random.cluster);
  job.records = std::move(random.job);
  job.canonical_json = "{\"seed\":" + std::to_string(seed) + "}";
  job.digest = DigestHex(job.canonical_json);
  return job;
}

void ReplayOnDoubles(const Plan& plan, std::uint64_t seed, bool eager, std::uint64_t refits = 3) {
  const doubles::Controls usual = doubles::GetControls();
  doubles::Controls controls = usual;
  controls.seed = seed;
  controls.polls_in_progress = static_cast<int>(seed % 2);
  doubles::SetControls(controls);
  {
    GpuTeamOptions options;
    options.nccl.eager = eager;
    GpuTeam team(plan, options);
    team.PrepareAll();
    for (std::uint64_t refit = 1; refit <= refits && !::testing::Test::HasFailure(); ++refit) {
      team.Refit(refit);
    }
  }
  doubles::SetControls(usual);
}

TEST(NcclReplayTest, TheTinyReferenceJob) {
  const Result<Job> job = ReadJob(SourceDirectory() + "/schedules/reference/tiny-moe.job.json");
  ASSERT_TRUE(job) << ToString(job.error());
  const std::optional<Plan> plan = CompileJob(*job);
  ASSERT_TRUE(plan);
  const doubles::Live before = doubles::LiveObjects();
  ReplayOnDoubles(*plan, 1, false, 2);
  ReplayOnDoubles(*plan, 2, true, 1);
  EXPECT_TRUE(doubles::LiveObjects() == before);
}

// GPU 9 dies in a refit. The job goes on without the inference engine it belongs to, by another
// plan, in the same process and on the same memory.
TEST(NcclReplayTest, SurvivorsGoOnByAPlanWithoutTheDead) {
  const Result<Job> job = ReadJob(SourceDirectory() + "/schedules/reference/tiny-moe.job.json");
  ASSERT_TRUE(job) << ToString(job.error());
  const std::optional<Plan> plan = CompileJob(*job);
  const Result<std::vector<JobEdit>> edits = ParseJobEdits("gpu 9 dead");
  ASSERT_TRUE(edits && plan);
  const Result<std::string> edited = EditJob(job->canonical_json, *edits);
  ASSERT_TRUE(edited) << ToString(edited.error());
  const Result<Job> without = ParseJob(*edited, "edited job");
  ASSERT_TRUE(without) << ToString(without.error());
  const std::optional<Plan> next = CompileJob(*without);
  ASSERT_TRUE(next);
  ASSERT_EQ(next->job.ranks.size(), 12u);  // engines of four
  ASSERT_NE(next->job_digest, plan->job_digest);

  const doubles::Live before = doubles::LiveObjects();
  {
    GpuTeamOptions survivors;
    {
      GpuTeam team(*plan);
      team.PrepareAll();
      team.Refit(1);
      doubles::KillRank(team.communicator(9).handle(), 1);
      team.Fill(2);
      team.Start(2);
      std::vector<RankIndex> others = team.ranks();
      std::erase(others, 9);
      // Its peers notice, and nobody installs version 2 without it.
      for (const auto& [rank, error] : team.WaitFor(500ms, others)) {
        const bool is_source = plan->job.ranks[static_cast<std::size_t>(rank)].source_group >= 0;
        EXPECT_TRUE(error || is_source) << rank;
        if (error) {
          EXPECT_EQ(ToString(team.engine(rank).state()), "failed(maybe mutated)");
        }
      }
      EXPECT_LT(team.longest_wait(), 1500ms);
      for (std::size_t r = 0; r < next->job.ranks.size(); ++r) {
        // Ranks of the tiny job are its GPUs, 0 to 15.
        const RankIndex old = next->job.ranks[r].gpu;
        ASSERT_EQ(plan->job.ranks[static_cast<std::size_t>(old)].gpu, old);
        survivors.mirrors[static_cast<RankIndex>(r)] = team.mirror(old);
      }
    }
    GpuTeam rebuilt(*next, survivors);
    rebuilt.PrepareAll();
    for (std::uint64_t refit = 3; refit <= 5; ++refit) rebuilt.Refit(refit);
    EXPECT_EQ(ToString(rebuilt.engine(11).state()), "installed(5)");
  }
  EXPECT_TRUE(doubles::LiveObjects() == before);
}

// Another plan of the same job, cut into other chunks: new engines on the same communicators and
// the same memory, and back again.
TEST(NcclReplayTest, AnotherPlanIsLoadedOnTheSameCommunicators) {
  std::optional<Plan> plan;
  std::optional<Plan> other;
  // Not every job is so large that the chunks decide.
  for (std::uint64_t seed = 20000; seed < 20020; ++seed) {
    plan = CompileJob(RandomJobOf(seed, 8 << 10, 50));
    other = CompileJob(RandomJobOf(seed, 64 << 10, 50));
    if (plan && other && plan->round_count != other->round_count) break;
  }
  ASSERT_TRUE(plan && other);
  ASSERT_NE(plan->round_count, other->round_count);
  const doubles::Live before = doubles::LiveObjects();
  {
    GpuTeamOptions kept;
    std::uint64_t refit = 1;
    for (const Plan* loaded : {&*plan, &*other, &*plan}) {
      GpuTeam team(*loaded, kept);
      team.PrepareAll();
      for (int i = 0; i < 2; ++i) team.Refit(refit++);
      for (const RankIndex rank : team.ranks()) {
        kept.communicators[rank] = team.shared_communicator(rank);
        kept.mirrors[rank] = team.mirror(rank);
      }
    }
  }
  EXPECT_TRUE(doubles::LiveObjects() == before);
}

TEST(NcclReplayTest, SmallRandomJobs) {
  int replayed = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::optional<Plan> plan = CompileJob(RandomJobOf(seed, 0, 0));
    if (!plan) continue;
    ReplayOnDoubles(*plan, seed, seed % 5 == 0);
    ++replayed;
    if (HasFailure()) return;  // one seed is enough to look at
  }
  EXPECT_GT(replayed, 120);
}

// Chunks so small that every slot is used again and again.
TEST(NcclReplayTest, RandomJobsOfManyRounds) {
  int replayed = 0;
  for (std::uint64_t seed = 20000; seed < 20020; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::optional<Plan> plan = CompileJob(RandomJobOf(seed, 8 << 10, 50));
    if (!plan) continue;
    ReplayOnDoubles(*plan, seed, seed % 5 == 0);
    ++replayed;
    if (HasFailure()) return;
  }
  EXPECT_GT(replayed, 15);
}

}  // namespace
}  // namespace reshard
