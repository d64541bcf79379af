#include "compiler/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Job JobOn(const JobRecords& records, const Cluster& cluster) {
  Job job;
  job.cluster = cluster;
  job.records = records;
  job.notices.untouched = {"model.layers.61.norm"};
  job.canonical_json = "{\"canonical\":true}";
  job.digest = "0123";
  return job;
}

// A tensor of 100 MB from one domain to another: 2 ms over a NIC of 50 GB/s.
JobRecordsBuilder OneTensor() {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {100'000'000});
  builder.AddSource({{"w", {0}, {100'000'000}}});
  builder.AddDestination({{"w", {0}, {100'000'000}}});
  return builder;
}

TEST(Compile, FillsThePlanAndItsCertificate) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  const CountingCostModel cost_model(1e-5);
  std::vector<std::string> heard;
  const Compiled compiled =
      Compile(JobOn(OneTensor().On(cluster), cluster), cost_model, [&](std::string_view stage) {
        heard.emplace_back(stage);
      }).value();
  EXPECT_THAT(heard, ElementsAre("demand", "bounds", "plan", "verify, simulate"));
  const Plan& plan = compiled.plan;
  EXPECT_EQ(plan.job_json, "{\"canonical\":true}");
  EXPECT_EQ(plan.job_digest, "0123");
  EXPECT_THAT(plan.notices.untouched, ElementsAre("model.layers.61.norm"));
  EXPECT_EQ(plan.job, OneTensor().On(cluster));
  EXPECT_DOUBLE_EQ(plan.certificate.lower_bound.seconds, 2e-3);
  EXPECT_EQ(plan.certificate.predicted_seconds, cost_model.PredictSeconds(plan).value());
  EXPECT_EQ(plan.certificate.constants_digest, "counting");
  const VerifierReport verified = Verify(plan).value();
  EXPECT_EQ(plan.certificate.staging_bytes_max, verified.staging_bytes_max);
  EXPECT_EQ(plan.certificate.ops_per_group_max, verified.ops_per_group_max);
  EXPECT_EQ(plan.certificate.peers_max, 1);
  EXPECT_EQ(verified.network_bytes, 100'000'000);
  EXPECT_EQ(compiled.report.verified.network_bytes, 100'000'000);
}

TEST(Compile, NamesThePlannersThereAre) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  JobRecords records = OneTensor().On(cluster);
  records.options.planner = "optimum";
  const Result<Compiled> compiled = Compile(JobOn(records, cluster), CountingCostModel(1e-5));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().fault, Fault::kInput);
  EXPECT_EQ(compiled.error().place, "options.planner");
  EXPECT_THAT(compiled.error().reason, HasSubstr("'optimum'"));
  EXPECT_THAT(compiled.error().remedy, HasSubstr("optimal"));
}

TEST(Compile, PassesOnWhatStagesRefuse) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {16});
  builder.AddSource({{"w", {0}, {8}}});
  builder.AddDestination({{"w", {0}, {16}}});
  const Result<Compiled> compiled =
      Compile(JobOn(builder.On(cluster), cluster), CountingCostModel(1e-5));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().place, "tensor 'w' [8:16]");
}

// A cost model that cannot answer stops the compilation with its own words.
TEST(Compile, PassesOnWhatTheCostModelRefuses) {
  class Refusing final : public CostModel {
   public:
    Result<double> PredictSeconds(const Plan&) const override {
      return InputError("cluster", "no rate");
    }
    ChannelFacts Channels() const override { return {13.5, 32, 8}; }
    std::string ConstantsDigest() const override { return ""; }
  };
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  const Result<Compiled> compiled = Compile(JobOn(OneTensor().On(cluster), cluster), Refusing());
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().reason, "no rate");
}

TEST(Compile, TwiceIsTheSamePlan) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 50;
    const RandomJob random = MakeRandomJob(seed, limits);
    const CountingCostModel cost_model(1e-6);
    const Job job = JobOn(random.job, random.cluster);
    const Result<Compiled> first = Compile(job, cost_model);
    const Result<Compiled> second = Compile(job, cost_model);
    ASSERT_EQ(first.has_value(), second.has_value());
    if (!first) continue;
    EXPECT_EQ(first->plan, second->plan);
  }
}

}  // namespace
}  // namespace reshard
