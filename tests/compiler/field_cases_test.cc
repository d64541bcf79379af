// Inputs from the field that broke somebody (C1, C12, C18, C19, C24), planned, proven and
// simulated; NICs that differ; a limit of peers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/moe_records.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::HasSubstr;

Result<Compiled> CompileOn(const Cluster& cluster, const JobRecords& records) {
  Job job;
  job.cluster = cluster;
  job.records = records;
  return Compile(job, SimulatedCostModel(cluster, DefaultConstants().value()));
}

// `tensors` of [rows, columns] bytes: rows cut over `sources` ranks, columns over `destinations`.
JobRecordsBuilder RowsToColumns(int tensors, std::int64_t rows, std::int64_t columns, int sources,
                                int destinations) {
  JobRecordsBuilder builder;
  const auto name = [](int t) { return "w." + std::to_string(1000 + t); };
  for (int t = 0; t < tensors; ++t) builder.AddTensor(name(t), DType::kU8, {rows, columns});
  for (int r = 0; r < sources + destinations; ++r) {
    std::vector<TestBox> boxes;
    for (int t = 0; t < tensors; ++t) {
      if (r < sources) {
        boxes.push_back({name(t), {r * rows / sources, 0}, {rows / sources, columns}});
      } else {
        const std::int64_t width = columns / destinations;
        boxes.push_back({name(t), {0, (r - sources) * width}, {rows, width}});
      }
    }
    r < sources ? builder.AddSource(boxes) : builder.AddDestination(boxes);
  }
  return builder;
}

// Case C1: 17 GB a side, 4 ranks to 4. 4.3 GB enter each NIC of 48 GB/s: 89.5 ms.
TEST(FieldCase, C1LargeMatrixFromRowsToColumns) {
  const Cluster cluster = UniformCluster(8, 1, 0, 48);
  const Result<Compiled> compiled =
      CompileOn(cluster, RowsToColumns(1, 131072, 131072, 4, 4).On(cluster));
  ASSERT_TRUE(compiled) << ToString(compiled.error());
  const Certificate& certificate = compiled->plan.certificate;
  EXPECT_NEAR(certificate.lower_bound.seconds, 131072.0 * 131072 / 4 / 48e9, 1e-9);
  EXPECT_LT(certificate.predicted_seconds, 1.03 * certificate.lower_bound.seconds);
}

// Case C12: 1000 tensors, 16 ranks to 16, each piece an operation of its own: 16,000 a rank, of
// which about 24,000 hung NCCL. A plan gathers them into a transfer per peer and round.
TEST(FieldCase, C12ManyPiecesFewOperations) {
  const Cluster cluster = UniformCluster(4, 8, 370, 48);
  const Result<Compiled> compiled =
      CompileOn(cluster, RowsToColumns(1000, 64, 4096, 16, 16).On(cluster));
  ASSERT_TRUE(compiled) << ToString(compiled.error());
  EXPECT_EQ(compiled->plan.demand.fragments.size(), 256'000);
  EXPECT_LE(compiled->report.verified.ops_per_group_max, 64);
}

// Case C24: 24,576 fragments of 4 KiB are 64 classes, and as many transfers.
TEST(FieldCase, C24FragmentsOfAFewKilobytes) {
  const Cluster cluster = UniformCluster(2, 8, 370, 48);
  const Result<Compiled> compiled =
      CompileOn(cluster, RowsToColumns(384, 64, 4096, 8, 8).On(cluster));
  ASSERT_TRUE(compiled) << ToString(compiled.error());
  EXPECT_EQ(compiled->plan.demand.fragments.size(), 24'576);
  EXPECT_EQ(compiled->plan.demand.classes.size(), 64U);
  EXPECT_EQ(compiled->plan.transfers.size(), 64U);
}

// Case C19: 8 replicas and 8 NICs; what leaves is level over all of them.
TEST(FieldCase, C19AllNicsCarryTheSame) {
  const Cluster cluster = UniformCluster(2, 8, 370, 48);
  JobRecordsBuilder builder;
  const std::int64_t bytes = 8'000'000'000;
  builder.AddTensor("w", DType::kU8, {bytes});
  for (int r = 0; r < 8; ++r) builder.AddSource({{"w", {0}, {bytes}}});
  for (int r = 0; r < 8; ++r) builder.AddDestination({{"w", {r * bytes / 8}, {bytes / 8}}});
  const Result<Compiled> compiled = CompileOn(cluster, builder.On(cluster));
  ASSERT_TRUE(compiled) << ToString(compiled.error());
  const SimulationResult simulated =
      Simulate(compiled->plan, cluster, DefaultConstants().value()).value();
  int sending = 0;
  for (const ResourceUse& use : simulated.resources) {
    if (use.bytes == 0 || !use.name.starts_with("NIC") || !use.name.ends_with("out")) continue;
    ++sending;
    EXPECT_NEAR(static_cast<double>(use.bytes), 1e9, 1e7) << use.name;
  }
  EXPECT_EQ(sending, 8);
}

// Every NIC between 95 and 100 % of its rate.
TEST(FieldCase, NicsThatDifferByFivePercentCostAtMostTen) {
  MoeShape shape = LargeMoe();
  shape.tensor_parallel = 8;
  shape.ranks_per_domain = 32;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomDraws draws(seed);
    std::vector<TestDomain> domains(2, UniformDomain(32, 720, 48));
    for (TestDomain& domain : domains) {
      for (NicType& nic : domain.nics) nic.gbps *= 0.95 + 0.05 * draws.Below(1001) / 1000.0;
    }
    const Cluster cluster = MakeTestCluster(domains);
    const Result<Compiled> compiled = CompileOn(cluster, MoeRecords(shape).job());
    ASSERT_TRUE(compiled) << ToString(compiled.error());
    const Certificate& certificate = compiled->plan.certificate;
    EXPECT_LT(certificate.predicted_seconds, 1.10 * certificate.lower_bound.seconds);
  }
}

// Case C18: one GPU of the destination's domain has but a part of its NVLink; every GPU needs the
// whole 8 GB. With v GB/s of NVLink and 48 of NIC it binds where 8 GB / (v + 48) is more than the
// 8 GB / (8 x 48) of the domain's NICs: then it must take in more than an eighth over its NIC, and
// cannot hand that to seven others itself. Without NVLink nothing of its domain reaches it.
TEST(FieldCase, C18DegradedAndMissingLinks) {
  for (const double degraded : {370.0, 333.0, 278.0, 185.0, 46.0, 0.0}) {
    SCOPED_TRACE(degraded);
    Cluster cluster = UniformCluster(2, 8, 370, 48);
    cluster.gpus[11].nvlink_gbps = degraded;
    JobRecordsBuilder builder;
    const std::int64_t bytes = 8'000'000'000;
    builder.AddTensor("w", DType::kU8, {bytes});
    for (int r = 0; r < 8; ++r) builder.AddSource({{"w", {r * bytes / 8}, {bytes / 8}}});
    for (int r = 0; r < 8; ++r) builder.AddDestination({{"w", {0}, {bytes}}});
    const Result<Compiled> compiled = CompileOn(cluster, builder.On(cluster));
    if (degraded == 0) {
      ASSERT_FALSE(compiled);
      EXPECT_THAT(ToString(compiled.error()),
                  HasSubstr("rank 11: bytes must come to it over NVLink"));
      continue;
    }
    ASSERT_TRUE(compiled) << ToString(compiled.error());
    const Certificate& certificate = compiled->plan.certificate;
    EXPECT_NEAR(certificate.lower_bound.seconds, std::max(8 / (degraded + 48), 8 / (8 * 48.0)),
                1e-9);
    EXPECT_LT(certificate.predicted_seconds, 1.10 * certificate.lower_bound.seconds);
  }
}

// Case C18: 7 and 8 ranks a node, and domains of one GPU, on either side.
TEST(FieldCase, C18UnequalNodesAndDomainsOfOneGpu) {
  const std::vector<std::vector<int>> shapes = {{7, 8}, {8, 7},       {1, 8},
                                                {8, 1}, {7, 1, 8, 1}, {1, 1}};
  for (const std::vector<int>& shape : shapes) {
    SCOPED_TRACE(testing::PrintToString(shape));
    std::vector<TestDomain> domains;
    int ranks = 0;
    for (const int gpus : shape) {
      domains.push_back(UniformDomain(gpus, gpus > 1 ? 370 : 0, 48));
      ranks += gpus;
    }
    const Cluster cluster = MakeTestCluster(domains);
    // The first half of the domains holds rows, the second needs columns; 56 divides by 7 and 8.
    int sources = 0;
    for (std::size_t d = 0; d < shape.size() / 2; ++d) sources += shape[d];
    JobRecordsBuilder builder = RowsToColumns(1, 504 * 100, 504 * 100, sources, ranks - sources);
    const Result<Compiled> compiled = CompileOn(cluster, builder.On(cluster));
    ASSERT_TRUE(compiled) << ToString(compiled.error());
    const Certificate& certificate = compiled->plan.certificate;
    EXPECT_LT(certificate.predicted_seconds, 1.05 * certificate.lower_bound.seconds);
  }
}

// 4 ranks to 4, rows to columns: everybody needs four peers. Three are too few, and said to be.
TEST(FieldCase, MaxPeersIsHeldOrRefused) {
  const Cluster cluster = UniformCluster(8, 1, 0, 48);
  JobRecords job = RowsToColumns(1, 4096, 4096, 4, 4).On(cluster);
  job.options.max_peers = 4;
  const Result<Compiled> compiled = CompileOn(cluster, job);
  ASSERT_TRUE(compiled) << ToString(compiled.error());
  EXPECT_EQ(compiled->report.verified.peers_max, 4);
  job.options.max_peers = 3;
  const Result<Compiled> refused = CompileOn(cluster, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(ToString(refused.error()),
            "options.maxPeers: the plan found has 4 peers on some rank, the limit is 3; raise "
            "options.maxPeers");
  job.options.max_peers = 0;
  job.options.max_ops_per_group = 3;
  const Result<Compiled> crowded = CompileOn(cluster, job);
  ASSERT_FALSE(crowded);
  EXPECT_THAT(ToString(crowded.error()),
              HasSubstr("options.maxOpsPerGroup: the plan found has 4 "));
}

}  // namespace
}  // namespace reshard
