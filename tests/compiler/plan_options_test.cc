// What a job may ask of a plan: a share of the NICs, several groups a side, memory that both sides
// share, few peers. Each against numbers worked out by hand.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/plan_execution.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

constexpr std::int64_t kBytes = 3'840'000'000;  // 10 ms over 8 NICs of 48 GB/s

Compiled CompileOn(const Cluster& cluster, const JobRecords& records) {
  Job job;
  job.cluster = cluster;
  job.records = records;
  return Compile(job, SimulatedCostModel(cluster, DefaultConstants().value())).value();
}

std::int64_t NetworkBytes(const Compiled& compiled, const Cluster& cluster) {
  std::int64_t bytes = 0;
  const SimulationResult simulated =
      Simulate(compiled.plan, cluster, DefaultConstants().value()).value();
  for (const ResourceUse& use : simulated.resources) {
    if (use.name.starts_with("NIC") && use.name.ends_with("out")) bytes += use.bytes;
  }
  return bytes;
}

// One tensor in eighths to another domain in eighths: 10 ms over whole NICs, 40 ms over a quarter
// of each; of four times the bytes, 40 ms over whole ones.
TEST(PlanOptions, AShareOfTheNicsTakesAsLongAsSlowerOnes) {
  const Cluster cluster = UniformCluster(2, 8, 370, 48);
  const auto job_of = [&](std::int64_t bytes) {
    JobRecordsBuilder builder;
    builder.AddTensor("w", DType::kU8, {bytes});
    for (int r = 0; r < 8; ++r) builder.AddSource({{"w", {r * bytes / 8}, {bytes / 8}}});
    for (int r = 0; r < 8; ++r) builder.AddDestination({{"w", {r * bytes / 8}, {bytes / 8}}});
    return builder.On(cluster);
  };
  JobRecords job = job_of(kBytes);
  job.options.nic_share = 0.25;
  const Certificate shared = CompileOn(cluster, job).plan.certificate;
  const Certificate whole = CompileOn(cluster, job_of(4 * kBytes)).plan.certificate;
  EXPECT_NEAR(shared.lower_bound.seconds, 0.04, 1e-9);
  EXPECT_NEAR(whole.lower_bound.seconds, 0.04, 1e-9);
  EXPECT_LT(shared.predicted_seconds, 1.03 * 0.04);
  EXPECT_NEAR(shared.predicted_seconds, whole.predicted_seconds, 0.02 * 0.04);
}

// Two groups of destinations of different shape: eighths in domain 1; halves, four replicas of
// each, in domain 2. The source's 8 NICs send at least one copy, and each domain takes one in: two
// copies over the network, no more, and the second comes from domain 1 or the source.
TEST(PlanOptions, GroupsOfDifferentShapeTakeInOneCopyEach) {
  const Cluster cluster = UniformCluster(3, 8, 370, 48);
  const std::int64_t bytes = 8 * kBytes;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {bytes});
  for (int r = 0; r < 8; ++r) builder.AddSource({{"w", {r * bytes / 8}, {bytes / 8}}});
  for (int r = 0; r < 8; ++r) builder.AddDestination({{"w", {r * bytes / 8}, {bytes / 8}}});
  for (int r = 0; r < 8; ++r) {
    builder.AddDestination({{"w", {r % 2 * bytes / 2}, {bytes / 2}}});
    builder.job().ranks.back().destination_group = 1;
  }
  const Compiled compiled = CompileOn(cluster, builder.On(cluster));
  EXPECT_EQ(NetworkBytes(compiled, cluster), 2 * bytes);
  const Certificate& certificate = compiled.plan.certificate;
  EXPECT_NEAR(certificate.lower_bound.seconds, 0.08, 1e-9);
  EXPECT_LT(certificate.predicted_seconds, 1.05 * 0.08);
}

// Ranks 0 and 1 hold halves of both tensors in memory that the destination has, too, and each wants
// its own half of "a" there and the other half of "b", in memory of its own. "a" does not move at
// all; of "b" each half goes over, 40 MB each way at 48 GB/s.
TEST(PlanOptions, WhatLiesInPlaceDoesNotMove) {
  const Cluster cluster = UniformCluster(2, 1, 0, 48);
  const std::int64_t half = 40'000'000;
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kU8, {2 * half});
  builder.AddTensor("b", DType::kU8, {2 * half});
  for (int r = 0; r < 2; ++r) {
    builder.AddBoth({{"a", {r * half}, {half}}, {"b", {r * half}, {half}}},
                    {{"a", {r * half}, {half}}, {"b", {(1 - r) * half}, {half}}});
  }
  builder.ShareMemory("a", "a");
  const Compiled compiled = CompileOn(cluster, builder.On(cluster));
  EXPECT_EQ(NetworkBytes(compiled, cluster), 2 * half);
  EXPECT_NEAR(compiled.plan.certificate.lower_bound.seconds, static_cast<double>(half) / 48e9,
              1e-12);
  std::int64_t copied = 0;  // on ranks, from source to destination
  const SimulationResult simulated =
      Simulate(compiled.plan, cluster, DefaultConstants().value()).value();
  for (const ResourceUse& use : simulated.resources) {
    if (use.name.ends_with("HBM")) copied += use.bytes;
  }
  EXPECT_LE(copied, 8 * half);  // packed and unpacked at most, read and written; none of "a"
}

// 4 sources with a quarter each, 2 to 2 in domains that NVLink joins, to 4 destinations that need
// all: over one relay each, three peers suffice; every source to every destination would be five.
TEST(PlanOptions, FewPeersAreKeptToWhereAPlanHasThem) {
  const Cluster cluster = UniformCluster(4, 2, 370, 48);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kBytes});
  for (int r = 0; r < 4; ++r) builder.AddSource({{"w", {r * kBytes / 4}, {kBytes / 4}}});
  for (int r = 0; r < 4; ++r) builder.AddDestination({{"w", {0}, {kBytes}}});
  JobRecords job = builder.On(cluster);
  const Compiled free = CompileOn(cluster, job);
  job.options.max_peers = free.plan.certificate.peers_max;
  const Compiled limited = CompileOn(cluster, job);
  EXPECT_LE(limited.plan.certificate.peers_max, job.options.max_peers);
  EXPECT_EQ(limited.plan.certificate.predicted_seconds, free.plan.certificate.predicted_seconds);
}

}  // namespace
}  // namespace reshard
