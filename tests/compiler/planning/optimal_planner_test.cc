#include "compiler/planning/optimal_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/planning/lowering.h"
#include "schedules/verifier.h"
#include "simulator/cost_model.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/moe_records.h"
#include "tests/compiler/plan_execution.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMegabyte = 1'000'000;

TestBox Whole(const std::string& tensor, std::int64_t bytes) { return {tensor, {0}, {bytes}}; }

// Planned, verified, and every byte followed.
void ExpectPlanWorks(const RandomJob& random, const CostModel& cost_model, std::uint64_t seed) {
  const Result<Plan> plan = MakePlan(random.job, random.cluster, cost_model);
  ASSERT_TRUE(plan) << ToString(plan.error());
  const Result<VerifierReport> verified = Verify(*plan);
  EXPECT_TRUE(verified) << ToString(verified.error());
  EXPECT_EQ(ExecutePlan(*plan, seed), "");
}

TEST(OptimalPlanner, EveryByteOfRandomJobsArrives) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ExpectPlanWorks(MakeRandomJob(seed), CountingCostModel(seed % 2 == 0 ? 1e-3 : 1e-9), seed);
  }
}

// With the simulator as judge, and tensors long enough for pieces, heads, exits and chunks.
TEST(OptimalPlanner, EveryByteOfLongRandomJobsArrives) {
  const Constants constants = DefaultConstants().value();
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 70;
    limits.tensors = 3;
    RandomJob random = MakeRandomJob(seed, limits);
    if (seed % 3 == 0) random.job.options.chunk_bytes = 128 << 10;
    ExpectPlanWorks(random, SimulatedCostModel(random.cluster, constants), seed);
  }
}

// Case C13: ranks 0-7 hold rows, ranks 4-11 need columns; and one set of ranks, rows to columns.
TEST(OptimalPlanner, MeshesThatOverlapOrCoincide) {
  for (const int first_needer : {4, 0}) {
    SCOPED_TRACE(first_needer);
    const Cluster cluster = UniformCluster(3, 4, 400, 50);
    JobRecordsBuilder builder;
    builder.AddTensor("w", DType::kBF16, {64, 64});
    for (int r = 0; r < first_needer + 8; ++r) {
      const std::int64_t row = 8 * r;
      const std::int64_t column = 8 * (r - first_needer);
      const std::vector<TestBox> rows{{"w", {row, 0}, {8, 64}}};
      const std::vector<TestBox> columns{{"w", {0, column}, {64, 8}}};
      if (r < 8 && r >= first_needer) {
        builder.AddBoth(rows, columns);
      } else if (r < 8) {
        builder.AddSource(rows);
      } else {
        builder.AddDestination(columns);
      }
    }
    ExpectPlanWorks({cluster, builder.On(cluster)}, CountingCostModel(1e-5), 1);
  }
}

// Memory that one side reads while the other side is written there: what passes the verifier works
// in any order of lanes; what cannot work does not pass.
TEST(OptimalPlanner, SharedMemoryWorksOrIsRefused) {
  int refused = 0;
  int passed = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.conflicting_memory = true;
    const RandomJob random = MakeRandomJob(seed, limits);
    if (random.job.in_place.empty()) continue;
    const Result<Plan> plan = MakePlan(random.job, random.cluster, CountingCostModel(1e-5));
    ASSERT_TRUE(plan) << ToString(plan.error());
    if (const Result<VerifierReport> verified = Verify(*plan); !verified) {
      EXPECT_EQ(verified.error().fault, Fault::kInput);
      ++refused;
      continue;
    }
    ++passed;
    for (std::uint64_t order = 0; order < 3; ++order) {
      EXPECT_EQ(ExecutePlan(*plan, seed + 7919 * order), "");
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(passed, 500);
}

TEST(OptimalPlanner, TwiceIsTheSame) {
  const Constants constants = DefaultConstants().value();
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 70;
    const RandomJob random = MakeRandomJob(seed, limits);
    const SimulatedCostModel cost_model(random.cluster, constants);
    EXPECT_EQ(MakePlan(random.job, random.cluster, cost_model).value(),
              MakePlan(random.job, random.cluster, cost_model).value());
  }
}

// ---- What cannot be done is refused in words.

JobRecordsBuilder OneToOne() {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kMegabyte});
  builder.AddSource({Whole("w", kMegabyte)});
  builder.AddDestination({Whole("w", kMegabyte)});
  return builder;
}

Error RefusalOf(const JobRecords& job, const Cluster& cluster) {
  const Result<Plan> plan = MakePlan(job, cluster, CountingCostModel(1e-5));
  EXPECT_FALSE(plan);
  return plan ? Error{} : plan.error();
}

TEST(OptimalPlanner, RefusesADomainThatCannotBeEntered) {
  const std::vector<TestDomain> domains{UniformDomain(1, 0, 50), UniformDomain(1, 0, 0)};
  const Cluster cluster = MakeTestCluster(domains);
  const Error error = RefusalOf(OneToOne().On(cluster), cluster);
  EXPECT_EQ(error.fault, Fault::kInput);
  EXPECT_EQ(error.place, "domain 1");
  EXPECT_THAT(error.reason, HasSubstr("none of its NICs has any bandwidth"));
  EXPECT_FALSE(error.remedy.empty());
}

TEST(OptimalPlanner, RefusesADomainThatCannotBeLeft) {
  const std::vector<TestDomain> domains{UniformDomain(1, 0, 0), UniformDomain(1, 0, 50)};
  const Cluster cluster = MakeTestCluster(domains);
  const Error error = RefusalOf(OneToOne().On(cluster), cluster);
  EXPECT_EQ(error.place, "rank 0");
  EXPECT_THAT(error.reason, HasSubstr("no link there has bandwidth"));
}

TEST(OptimalPlanner, RefusesADomainWithoutNvlink) {
  const Cluster cluster = UniformCluster(1, 2, 0, 50);
  const Error error = RefusalOf(OneToOne().On(cluster), cluster);
  EXPECT_EQ(error.place, "rank 1");
  EXPECT_THAT(error.reason, HasSubstr("NVLink"));
}

// A rank without a NIC at work is reached over NVLink; without that it is cut off.
TEST(OptimalPlanner, RefusesARankThatIsCutOff) {
  std::vector<TestDomain> domains{UniformDomain(1, 0, 50), {2, 0, {{{0}, 50, 0}}}};
  JobRecordsBuilder receives;
  receives.AddTensor("w", DType::kU8, {kMegabyte});
  receives.AddSource({Whole("w", kMegabyte)});
  receives.AddDestination({});
  receives.AddDestination({Whole("w", kMegabyte)});
  Cluster cluster = MakeTestCluster(domains);
  EXPECT_EQ(RefusalOf(receives.On(cluster), cluster).place, "rank 2");
  std::swap(domains[0], domains[1]);
  cluster = MakeTestCluster(domains);
  JobRecordsBuilder sends;
  sends.AddTensor("w", DType::kU8, {kMegabyte});
  sends.AddSource({});
  sends.AddSource({Whole("w", kMegabyte)});
  sends.AddDestination({Whole("w", kMegabyte)});
  EXPECT_EQ(RefusalOf(sends.On(cluster), cluster).place, "rank 1");
}

// Whatever links are dead: a job is refused before it is planned, or planned over links that work.
TEST(OptimalPlanner, PlansOverLinksThatWorkOrRefuses) {
  const Constants constants = DefaultConstants().value();
  int refused = 0;
  int planned = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.dead_nvlinks = 15;
    limits.long_tensors = seed % 2 == 0 ? 80 : 0;
    limits.long_factor = 100'000;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Result<Plan> plan =
        MakePlan(random.job, random.cluster, SimulatedCostModel(random.cluster, constants));
    if (plan) {
      ++planned;
      continue;
    }
    ++refused;
    EXPECT_EQ(plan.error().fault, Fault::kInput);
    EXPECT_EQ(plan.error().remedy, "give it bandwidth, or leave it out of the job")
        << ToString(plan.error());
  }
  EXPECT_GT(planned, 300);
  EXPECT_GT(refused, 50);
}

// Nothing to move needs no bandwidth.
TEST(OptimalPlanner, NoBandwidthIsNoFaultWhereNothingMoves) {
  const Cluster cluster = UniformCluster(2, 1, 0, 0);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kMegabyte});
  builder.AddBoth({Whole("w", kMegabyte)}, {Whole("w", kMegabyte)});
  builder.AddBoth({Whole("w", kMegabyte)}, {Whole("w", kMegabyte)});
  ExpectPlanWorks({cluster, builder.On(cluster)}, CountingCostModel(1e-5), 1);
}

// ---- Options.

MoeShape SmallMoe() {
  MoeShape shape;
  shape.layers = 4;
  shape.experts = 8;
  shape.hidden = 1024;
  shape.width = 512;
  shape.dense_rows = 1024;
  shape.pipeline = 2;
  shape.expert_parallel = 4;
  shape.source_ranks = 8;
  shape.tensor_parallel = 4;
  shape.destination_ranks = 8;
  shape.ranks_per_domain = 4;
  return shape;
}

TEST(OptimalPlanner, KeepsWithinTheStaging) {
  JobRecords job = MoeRecords(SmallMoe()).job();
  const Cluster cluster = UniformCluster(4, 4, 400, 50);
  const CountingCostModel likes_few_rounds(1.0);
  std::int32_t rounds_before = 0;
  for (const std::int64_t mebibytes : {2048, 32, 8, 2}) {
    job.options.staging_bytes = mebibytes << 20U;
    const Result<Plan> plan = MakePlan(job, cluster, likes_few_rounds);
    ASSERT_TRUE(plan) << ToString(plan.error());
    EXPECT_LE(StagingBytesMax(*plan), job.options.staging_bytes);
    EXPECT_GE(plan->round_count, rounds_before);
    rounds_before = plan->round_count;
    EXPECT_TRUE(Verify(*plan));
  }
  EXPECT_GT(rounds_before, 10);
  job.options.staging_bytes = 256;
  const Error error = RefusalOf(job, cluster);
  EXPECT_EQ(error.place, "options.stagingMiB");
  EXPECT_THAT(error.reason, HasSubstr("more staging"));
}

// Bytes that each rank sends and receives over the network in each round, from the plan's records.
std::int64_t FullestNetworkRound(const Plan& plan) {
  std::int64_t fullest = 0;
  for (RoundIndex round = 0; round < plan.round_count; ++round) {
    std::vector<std::int64_t> sent(plan.job.ranks.size(), 0);
    std::vector<std::int64_t> received(plan.job.ranks.size(), 0);
    for (const Transfer& transfer : plan.transfers) {
      const auto from = static_cast<std::size_t>(transfer.from);
      const auto to = static_cast<std::size_t>(transfer.to);
      if (plan.job.ranks[from].domain == plan.job.ranks[to].domain) continue;
      const Slot& slot =
          plan.schedules[to].slots[static_cast<std::size_t>(transfer.destination.slot)];
      const auto places = PlaceItems(slot, round, plan.columns, plan.profiles);
      for (std::int32_t i = 0; i < transfer.destination.item_count; ++i) {
        const std::int64_t bytes =
            places[static_cast<std::size_t>(transfer.destination.first_item + i)].bytes.size();
        sent[from] += bytes;
        received[to] += bytes;
      }
    }
    fullest =
        std::max({fullest, *std::ranges::max_element(sent), *std::ranges::max_element(received)});
  }
  return fullest;
}

TEST(OptimalPlanner, KeepsBelowTheChunkCeiling) {
  JobRecords job = MoeRecords(SmallMoe()).job();
  const Cluster cluster = UniformCluster(4, 4, 400, 50);
  const CountingCostModel likes_few_rounds(1.0);
  job.options.chunk_bytes = 1 << 20;
  const Result<Plan> plan = MakePlan(job, cluster, likes_few_rounds);
  ASSERT_TRUE(plan) << ToString(plan.error());
  EXPECT_LE(FullestNetworkRound(*plan), job.options.chunk_bytes);
  EXPECT_GT(FullestNetworkRound(*plan), job.options.chunk_bytes / 2);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 80;
    limits.long_factor = 20'000;
    RandomJob random = MakeRandomJob(seed, limits);
    random.job.options.chunk_bytes = 512 << 10;
    const Result<Plan> made = MakePlan(random.job, random.cluster, likes_few_rounds);
    ASSERT_TRUE(made) << ToString(made.error());
    EXPECT_LE(FullestNetworkRound(*made), random.job.options.chunk_bytes);
  }
}

// ---- How near the bound it comes.

double GapOf(const JobRecords& job, const Cluster& cluster) {
  const SimulatedCostModel cost_model(cluster, DefaultConstants().value());
  const Result<Plan> plan = MakePlan(job, cluster, cost_model);
  EXPECT_TRUE(plan) << ToString(plan.error());
  if (!plan) return 1e9;
  EXPECT_TRUE(Verify(*plan));
  const double seconds = cost_model.PredictSeconds(*plan).value();
  const Stages stages = MakeStages(job, cluster);
  return seconds / stages.bound_seconds - 1;
}

TEST(OptimalPlanner, ComesWithinFivePercentOfTheBound) {
  EXPECT_LT(GapOf(MoeRecords(LargeMoe()).job(), UniformCluster(8, 8, 370, 48)), 0.05);
}

TEST(OptimalPlanner, ComesWithinFivePercentInLargeDomains) {
  MoeShape shape = LargeMoe();
  shape.ranks_per_domain = 32;
  shape.tensor_parallel = 8;
  EXPECT_LT(GapOf(MoeRecords(shape).job(), UniformCluster(2, 32, 720, 48)), 0.05);
}

// 3 GB from one rank to eight in domains of one: only relays keep the source's NIC from sending
// everything eight times.
TEST(OptimalPlanner, ComesWithinFivePercentFromOneSource) {
  const Cluster cluster = UniformCluster(9, 1, 0, 48);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {3000 * kMegabyte});
  builder.AddSource({Whole("w", 3000 * kMegabyte)});
  for (int i = 0; i < 8; ++i) builder.AddDestination({Whole("w", 3000 * kMegabyte)});
  EXPECT_LT(GapOf(builder.On(cluster), cluster), 0.05);
}

// Case C17, with the bytes to see it: 8 replicas of everything on both sides. 20 ms over the NICs;
// the fan-out behind takes 17.5 ms over NVLink, so a tail that halves is bound by it for its first
// rounds.
TEST(OptimalPlanner, ComesWithinSevenPercentWithReplicasOnBothSides) {
  const Cluster cluster = UniformCluster(2, 8, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {8000 * kMegabyte});
  for (int i = 0; i < 8; ++i) builder.AddSource({Whole("w", 8000 * kMegabyte)});
  for (int i = 0; i < 8; ++i) builder.AddDestination({Whole("w", 8000 * kMegabyte)});
  EXPECT_LT(GapOf(builder.On(cluster), cluster), 0.07);
}

// Case C18: domains of 7 and 8 GPUs, one of one, NVLink degraded in one, a NIC at half its rate.
TEST(OptimalPlanner, PlansAroundUnequalAndDegradedDomains) {
  std::vector<TestDomain> domains{UniformDomain(7, 400, 50), UniformDomain(8, 120, 50),
                                  UniformDomain(1, 0, 50), UniformDomain(8, 400, 50)};
  domains[0].nics[3].gbps = 25;
  const Cluster cluster = MakeTestCluster(domains);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {840, kMegabyte});
  for (int i = 0; i < 7; ++i) builder.AddSource({{"w", {120 * i, 0}, {120, kMegabyte}}});
  for (int i = 0; i < 8; ++i) builder.AddSource({{"w", {105 * i, 0}, {105, kMegabyte}}});
  builder.AddDestination({{"w", {0, 0}, {840, kMegabyte}}});
  for (int i = 0; i < 8; ++i) builder.AddDestination({{"w", {105 * i, 0}, {105, kMegabyte}}});
  EXPECT_LT(GapOf(builder.On(cluster), cluster), 0.05);
}

// Rank 3 lacks 4 GB of domain 0, 42 ms over two NICs, and 18 GB of rank 2 beside it. Four channels,
// which fill a NIC of 48 GB/s, carry 148 GB/s of NVLink's 370: 135 ms.
TEST(OptimalPlanner, PeersGetTheChannelsThatNvlinkWants) {
  const Cluster cluster = UniformCluster(2, 2, 370, 48);
  const auto builder_of = [&](std::int64_t beside) {
    JobRecordsBuilder builder;
    builder.AddTensor("far", DType::kU8, {4000 * kMegabyte});
    builder.AddTensor("near", DType::kU8, {18'000 * kMegabyte});
    builder.AddSource({Whole("far", 4000 * kMegabyte)});
    builder.AddSource({Whole("far", 4000 * kMegabyte)});
    builder.AddSource({Whole("near", beside)});
    builder.AddDestination({Whole("far", 4000 * kMegabyte), Whole("near", beside)});
    return builder;
  };
  const JobRecords job = builder_of(18'000 * kMegabyte).On(cluster);
  EXPECT_LT(GapOf(job, cluster), 0.05);
  const SimulatedCostModel cost_model(cluster, DefaultConstants().value());
  EXPECT_EQ(MakePlan(job, cluster, cost_model)->channels.channels_per_net_peer, 16);
  // A megabyte beside it needs no more than the NICs do.
  const JobRecords little = builder_of(kMegabyte).On(cluster);
  EXPECT_EQ(MakePlan(little, cluster, cost_model)->channels.channels_per_net_peer, 4);
}

}  // namespace
}  // namespace reshard
