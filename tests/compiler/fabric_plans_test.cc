// Plans on fabrics that limit what passes between domains: proven, simulated, and near the bound.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "schedules/verifier.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"
#include "tests/compiler/fabric_refit.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

constexpr double kShortSeconds = 0.02;

// Predicted time over the bound of the first refits of a kind that take 20 ms or more, ascending.
std::vector<double> RatiosOn(const std::string& kind, std::uint64_t seeds) {
  const Constants constants = DefaultConstants().value();
  std::vector<double> ratios;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(kind + ", seed " + std::to_string(seed));
    const RandomRefit refit = MakeFabricRefit(kind, seed);
    const double bound = MakeStages(refit.job, refit.cluster).bound_seconds;
    if (bound < kShortSeconds) continue;
    const SimulatedCostModel cost_model(refit.cluster, constants);
    const Result<Plan> plan = MakePlan(refit.job, refit.cluster, cost_model);
    EXPECT_TRUE(plan) << ToString(plan.error());
    if (!plan) continue;
    EXPECT_TRUE(Verify(*plan));
    ratios.push_back(cost_model.PredictSeconds(*plan).value() / bound);
  }
  std::ranges::sort(ratios);
  return ratios;
}

// The survey in small (fabric_survey does it in large).
TEST(FabricPlans, ComeNearTheBoundOnEveryKindOfFabric) {
  for (const std::string& kind : FabricKinds()) {
    if (kind == "bare") continue;
    SCOPED_TRACE(kind);
    const std::vector<double> ratios = RatiosOn(kind, 8);
    if (kind.starts_with("paired") && ratios.size() < 3) continue;
    ASSERT_GE(ratios.size(), 3U);
    EXPECT_LT(ratios[ratios.size() / 2], 1.04);
    EXPECT_LT(ratios[ratios.size() * 8 / 10], 1.10);
    EXPECT_LT(ratios.back(), 1.20);
  }
}

// A source domain of 8 rails, destinations of 4 (rails 0 to 3), all NICs 48 GB/s. 9.6 GB enter each
// destination over 4 NICs: 50 ms. The source has twice what that takes on rails 0 to 3 if it sends
// one copy, so nothing has to cross, though half of what is held lies on GPUs of other rails.
TEST(FabricPlans, NothingCrossesWhereTheCountsAllow) {
  std::vector<TestDomain> domains{UniformDomain(8, 720, 48)};
  domains.resize(3, UniformDomain(4, 720, 48));
  Cluster cluster = MakeTestCluster(domains);
  const std::int64_t bytes = 9'600'000'000;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {bytes});
  for (int r = 0; r < 8; ++r) builder.AddSource({{"w", {r * bytes / 8}, {bytes / 8}}});
  for (int r = 0; r < 8; ++r) builder.AddDestination({{"w", {0}, {bytes}}});
  for (const RailCrossing crossing : {RailCrossing::kSpine, RailCrossing::kNone}) {
    cluster.fabric.rail_crossing = crossing;
    cluster.fabric.spine_oversubscription = crossing == RailCrossing::kSpine ? 8 : 1;
    Job job;
    job.cluster = cluster;
    job.records = builder.On(cluster);
    const Result<Compiled> compiled =
        Compile(job, SimulatedCostModel(cluster, DefaultConstants().value()));
    ASSERT_TRUE(compiled) << ToString(compiled.error());
    for (const Transfer& transfer : compiled->plan.transfers) {
      const Rank& from = compiled->plan.job.ranks[static_cast<std::size_t>(transfer.from)];
      const Rank& to = compiled->plan.job.ranks[static_cast<std::size_t>(transfer.to)];
      if (from.domain == to.domain) continue;
      const auto rail = [&](const Rank& rank) {
        return rank.gpu - cluster.domains[static_cast<std::size_t>(rank.domain)].first_gpu;
      };
      EXPECT_EQ(rail(from), rail(to));
    }
    const Certificate& certificate = compiled->plan.certificate;
    EXPECT_NEAR(certificate.lower_bound.seconds, 0.05, 1e-9);
    EXPECT_LT(certificate.predicted_seconds, 1.05 * certificate.lower_bound.seconds);
  }
}

// GPU 0 alone in its domain on rail 0, GPU 1 alone on rail 1.
TEST(FabricPlans, RailsThatNeverMeetAreSaid) {
  Cluster cluster =
      MakeTestCluster(std::vector<TestDomain>{{1, 0, {{{0}, 48, 0}}}, {1, 0, {{{0}, 48, 1}}}});
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {1'000'000});
  builder.AddSource({{"w", {0}, {1'000'000}}});
  builder.AddDestination({{"w", {0}, {1'000'000}}});
  Job job;
  job.cluster = cluster;
  job.records = builder.On(cluster);
  const Result<Compiled> refused =
      Compile(job, SimulatedCostModel(cluster, DefaultConstants().value()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      ToString(refused.error()),
      "cluster: fabric.railCrossing: domain 1 needs bytes of rank 0 and shares no rail with a "
      "domain that has them, nor with one that could pass them on, and nothing crosses "
      "between rails; give it a NIC on such a rail, or leave it out of the job");
}

}  // namespace
}  // namespace reshard
