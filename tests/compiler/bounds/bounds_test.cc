#include "compiler/bounds/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/demand/demand_builder.h"
#include "compiler/planning/domain_assignment.h"
#include "simulator/cost_model.h"
#include "tests/compiler/domain_flow_oracle.h"
#include "tests/compiler/fabric_flow_oracle.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kHundredMegabytes = 100'000'000;

std::vector<BoundWitness> BoundsOf(const JobRecords& job, const Cluster& cluster) {
  const Demand demand = BuildDemand(job).value();
  return LowerBounds(job, demand, cluster, MakeRankResources(job, cluster).value());
}

std::map<std::string, double> SecondsByName(const std::vector<BoundWitness>& bounds) {
  std::map<std::string, double> seconds;
  for (const BoundWitness& bound : bounds) seconds[bound.name] = bound.seconds;
  return seconds;
}

// `sources` ranks that hold a tensor of 100 MB and then `destinations` that need it, all whole.
JobRecordsBuilder Replicated(int sources, int destinations) {
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  const TestBox whole{"w", {0}, {kHundredMegabytes}};
  for (int i = 0; i < sources; ++i) builder.AddSource({whole});
  for (int i = 0; i < destinations; ++i) builder.AddDestination({whole});
  return builder;
}

// Ranks 0, 1 in domain 0, of which only 0 holds (rank 1 holds nothing), 2 and 3 in domain 1 need
// all: NVLink 400, NICs 50 each.
//   LB1   0.1 GB / (400 + 50)         LB2  0.1 GB / (2 * 50)
//   LB3   0.1 GB / (2 * 50)           LB3g 0.1 GB / (400 + 50)
//   LB5   0.2 GB / (2 * 400 + 2 * 50)  LB6  0.19 of 14 us
TEST(LowerBounds, EachByHand) {
  const Cluster cluster = UniformCluster(2, 2, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  const TestBox whole{"w", {0}, {kHundredMegabytes}};
  builder.AddSource({whole});
  builder.AddSource({});
  builder.AddDestination({whole});
  builder.AddDestination({whole});
  const std::vector<BoundWitness> bounds = BoundsOf(builder.On(cluster), cluster);
  std::map<std::string, double> seconds = SecondsByName(bounds);
  EXPECT_DOUBLE_EQ(seconds["LB1"], 0.1 / 450);
  EXPECT_DOUBLE_EQ(seconds["LB2"], 1e-3);
  EXPECT_DOUBLE_EQ(seconds["LB3"], 1e-3);
  EXPECT_DOUBLE_EQ(seconds["LB3g"], 0.1 / 450);
  EXPECT_DOUBLE_EQ(seconds["LB5"], 0.2 / 900);
  EXPECT_DOUBLE_EQ(seconds["LB6"], 0.19 * 14e-6);
  EXPECT_TRUE(std::ranges::is_sorted(bounds, std::ranges::greater(), &BoundWitness::seconds));
  EXPECT_EQ(bounds[0].description, "domain 1 ingress: 100.0 MB over 2 NICs at 50 GB/s");
}

// A and B hold the same, C and D (four times as fast) need it: each of A, B may leave it to the
// other, but together they send it once: 0.1 GB / 100.
TEST(LowerBounds, ASetOfDomainsMustLetGoOfWhatOnlyItHolds) {
  std::vector<TestDomain> domains(4, UniformDomain(1, 0, 50));
  domains[2] = domains[3] = UniformDomain(1, 0, 200);
  const Cluster cluster = MakeTestCluster(domains);
  const std::vector<BoundWitness> bounds = BoundsOf(Replicated(2, 2).On(cluster), cluster);
  EXPECT_EQ(bounds[0].name, "LB3");
  EXPECT_DOUBLE_EQ(bounds[0].seconds, 1e-3);
  EXPECT_EQ(bounds[0].description, "2 domains egress: 100.0 MB over 2 NICs at 50 GB/s");
}

// Domain 1 has 8 needers, slow NVLink and fast NICs: 8 * 0.1 GB / (8 * 100 + 8 * 50) beats entering
// once, 0.1 / 400.
TEST(LowerBounds, CopiesWithinADomainBindWhereNvlinkIsSlow) {
  const std::vector<TestDomain> domains(2, UniformDomain(8, 100, 50));
  const Cluster cluster = MakeTestCluster(domains);
  const std::vector<BoundWitness> bounds = BoundsOf(Replicated(8, 8).On(cluster), cluster);
  std::map<std::string, double> seconds = SecondsByName(bounds);
  EXPECT_EQ(bounds[0].name, "LB1");  // 0.1 / 150, the same as every needer's share of LB5
  EXPECT_DOUBLE_EQ(seconds["LB1"], 0.1 / 150);
  EXPECT_DOUBLE_EQ(seconds["LB5"], 0.8 / 1200);
  EXPECT_DOUBLE_EQ(seconds["LB2"], 0.1 / 400);
}

// In a job inside one domain no NIC can help: 0.1 GB over NVLink alone.
TEST(LowerBounds, OneDomainHasNvlinkOnly) {
  const Cluster cluster = UniformCluster(1, 4, 400, 50);
  std::map<std::string, double> seconds =
      SecondsByName(BoundsOf(Replicated(1, 3).On(cluster), cluster));
  EXPECT_DOUBLE_EQ(seconds["LB1"], 0.1 / 400);
  EXPECT_DOUBLE_EQ(seconds["LB3g"], 0.1 / 400);
  EXPECT_DOUBLE_EQ(seconds["LB5"], 0.3 / 1200);
  EXPECT_DOUBLE_EQ(seconds["LB6"], 0.17 * 3e-6);
  EXPECT_FALSE(seconds.contains("LB2"));
}

// A needer that holds lacks nothing; a class all needers hold moves nothing.
TEST(LowerBounds, WhatARankHoldsItDoesNotLack) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  const TestBox whole{"w", {0}, {kHundredMegabytes}};
  builder.AddBoth({whole}, {whole});
  builder.AddBoth({whole}, {whole});
  const JobRecords job = builder.On(cluster);
  EXPECT_TRUE(BoundsOf(job, cluster).empty());
  const BoundWitness bound =
      LowerBound(job, BuildDemand(job).value(), cluster, MakeRankResources(job, cluster).value());
  EXPECT_EQ(bound.seconds, 0);
  EXPECT_EQ(bound.description, "nothing moves between GPUs");
}

// Only the share of the NICs the refit may use counts: a fifth of them takes five times as long.
TEST(LowerBounds, UseTheShareOfNics) {
  const Cluster cluster = UniformCluster(2, 1, 0, 50);
  JobRecords job = Replicated(1, 1).On(cluster);
  EXPECT_DOUBLE_EQ(BoundsOf(job, cluster)[0].seconds, 2e-3);
  job.options.nic_share = 0.2;
  EXPECT_DOUBLE_EQ(BoundsOf(job, cluster)[0].seconds, 1e-2);
}

// The example of where LB2 and LB3 fall short: domains A-D of unit rate, classes x: A -> {B, C},
// y: B -> A, z: C -> D. B must take in x and hand out y, C take in x and hand out z, so the second
// copy of x costs one of A, B, C a quarter more with D's help, a third without: 1.25 units.
TEST(LowerBounds, WeightedDomainsProveWhatSingleOnesCannot) {
  const Cluster cluster = UniformCluster(4, 1, 0, 100);  // a unit takes 1 ms
  JobRecordsBuilder builder;
  for (const char* name : {"x", "y", "z"}) builder.AddTensor(name, DType::kU8, {kHundredMegabytes});
  const auto whole = [](const char* name) { return TestBox{name, {0}, {kHundredMegabytes}}; };
  builder.AddBoth({whole("x")}, {whole("y")});
  builder.AddBoth({whole("y")}, {whole("x")});
  builder.AddBoth({whole("z")}, {whole("x")});
  builder.AddDestination({whole("z")});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  ASSERT_TRUE(stages.domains);
  EXPECT_NEAR(stages.domains->seconds, 1.25e-3, 1e-8);
  std::map<std::string, double> seconds = SecondsByName(LowerBounds(
      stages.plan.job, stages.plan.demand, cluster, stages.resources, &stages.domains->weights));
  EXPECT_DOUBLE_EQ(seconds["LB2"], 1e-3);
  EXPECT_DOUBLE_EQ(seconds["LB3"], 1e-3);
  EXPECT_NEAR(seconds["LB4"], 1.25e-3, 1e-8);
  EXPECT_NEAR(FlowOptimumSeconds(stages.plan.job, stages.plan.demand, stages.resources), 1.25e-3,
              1e-8);
}

// Whatever prices are given, what they prove is true: no bound of traffic between domains exceeds
// the optimum of the exact program.
TEST(LowerBounds, AnyPricesStayBelowTheFlowOptimum) {
  int compared = 0;
  int tight = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 100;
    limits.long_factor = 1'000'000;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Stages stages = MakeStages(random.job, random.cluster);
    const double optimum = FlowOptimumSeconds(random.job, stages.plan.demand, stages.resources);
    if (optimum <= 0) continue;
    RandomDraws draws(seed);
    DomainWeights prices;
    for (std::size_t d = 0; d < random.cluster.domains.size(); ++d) {
      prices.egress.push_back(static_cast<double>(draws.Below(5)));
      prices.ingress.push_back(static_cast<double>(draws.Below(5)));
    }
    double best = 0;
    for (const DomainWeights* weights :
         {static_cast<const DomainWeights*>(&prices),
          stages.domains ? static_cast<const DomainWeights*>(&stages.domains->weights) : nullptr}) {
      for (const BoundWitness& bound :
           LowerBounds(random.job, stages.plan.demand, random.cluster, stages.resources, weights)) {
        if (bound.name != "LB2" && bound.name != "LB3" && bound.name != "LB4") continue;
        EXPECT_LE(bound.seconds, optimum * (1 + 1e-6)) << bound.name;
        best = std::max(best, bound.seconds);
      }
    }
    if (stages.domains) {
      EXPECT_GE(stages.domains->seconds, optimum * (1 - 1e-6));
    }
    ++compared;
    tight += best >= optimum * 0.999 ? 1 : 0;
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(tight, compared * 9 / 10);
}

// Domain 0, with NICs of 50 GB/s on rails 0 and 1, needs 0.1 GB that domain 1 holds, whose NIC on
// rail 1 is dead: rail 0 alone carries it. Over a spine with 2:1, of the 150 GB/s of NICs 50 / 2
// may leave rail 0 for rail 1, but domain 1 has no more than 50 to send.
TEST(LowerBounds, RailsThatDoNotMeetLimitADomain) {
  std::vector<TestDomain> domains(2, UniformDomain(2, 400, 50));
  domains[1].nics[1].gbps = 0;
  Cluster cluster = MakeTestCluster(domains);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  const TestBox whole{"w", {0}, {kHundredMegabytes}};
  builder.AddDestination({whole});
  builder.AddDestination({whole});
  builder.AddSource({whole});
  builder.AddSource({whole});
  const JobRecords job = builder.On(cluster);
  EXPECT_DOUBLE_EQ(SecondsByName(BoundsOf(job, cluster))["LB2"], 1e-3);
  cluster.fabric.rail_crossing = RailCrossing::kNone;
  const std::vector<BoundWitness> bounds = BoundsOf(job, cluster);
  EXPECT_DOUBLE_EQ(SecondsByName(bounds)["LB2"], 2e-3);
  EXPECT_EQ(bounds[0].description,
            "domain 0 ingress: 100.0 MB at the 50 GB/s that the fabric lets through");
  EXPECT_NEAR(FabricFlowOptimumSeconds(job, BuildDemand(job).value(), cluster), 2e-3, 1e-8);
}

// Domains 0 and 1 hold halves of what 2 and 3 need, all NICs 50 GB/s; the needers' switch lets in a
// quarter of its 100 GB/s.
TEST(LowerBounds, ASwitchLimitsItsDomains) {
  Cluster cluster = UniformCluster(4, 1, 0, 50);
  cluster.fabric.switches = {{{2, 3}, 4}};
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  const TestBox front{"w", {0}, {kHundredMegabytes / 2}};
  const TestBox back{"w", {kHundredMegabytes / 2}, {kHundredMegabytes / 2}};
  builder.AddSource({front});
  builder.AddSource({back});
  for (int i = 0; i < 2; ++i) builder.AddDestination({{"w", {0}, {kHundredMegabytes}}});
  const JobRecords job = builder.On(cluster);
  const std::vector<BoundWitness> bounds = BoundsOf(job, cluster);
  EXPECT_DOUBLE_EQ(bounds[0].seconds, 4e-3);
  EXPECT_EQ(bounds[0].description, "switch 0 ingress: 100.0 MB at 25 GB/s");
  EXPECT_NEAR(FabricFlowOptimumSeconds(job, BuildDemand(job).value(), cluster), 4e-3, 1e-8);
}

// On every fabric: no bound of traffic between domains exceeds the optimum of the exact program,
// and on a fabric that limits nothing the two programs are the same.
TEST(LowerBounds, StayBelowTheFlowOptimumOfAnyFabric) {
  int compared = 0;
  int limited = 0;
  int tight = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 100;
    limits.long_factor = 1'000'000;
    RandomJob random = MakeRandomJob(seed, limits);
    const Demand demand = BuildDemand(random.job).value();
    const RankResources resources = MakeRankResources(random.job, random.cluster).value();
    const double unlimited = FlowOptimumSeconds(random.job, demand, resources);
    if (unlimited <= 0) continue;
    EXPECT_NEAR(FabricFlowOptimumSeconds(random.job, demand, random.cluster), unlimited,
                1e-6 * unlimited);
    RandomDraws draws(seed);
    DrawFabric(draws, random.cluster);
    const double optimum = FabricFlowOptimumSeconds(random.job, demand, random.cluster);
    if (optimum < 0) continue;  // no rail leads there
    ++compared;
    double best = 0;
    for (const BoundWitness& bound : LowerBounds(random.job, demand, random.cluster, resources)) {
      if (bound.name != "LB2" && bound.name != "LB3") continue;
      EXPECT_LE(bound.seconds, optimum * (1 + 1e-6)) << bound.name << " " << bound.description;
      best = std::max(best, bound.seconds);
    }
    if (optimum < unlimited * (1 + 1e-6)) continue;
    ++limited;
    tight += best >= optimum * 0.999 ? 1 : 0;
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(limited, 80);
  EXPECT_GT(tight, limited / 2);
}

// No plan, as simulated, beats any bound.
TEST(LowerBounds, NoPredictionIsBelow) {
  const Constants constants = DefaultConstants().value();
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 100;
    limits.long_factor = seed % 2 == 0 ? 1'000'000 : 1000;
    RandomJob random = MakeRandomJob(seed, limits);
    if (seed % 3 == 0) {  // so that hops count, of which the shortest messages have shorter ones
      for (Domain& domain : random.cluster.domains) {
        domain.nvlink_latency_us *= 30;
        domain.network_latency_us *= 30;
      }
    }
    const SimulatedCostModel cost_model(random.cluster, constants);
    const Result<Plan> plan = MakePlan(random.job, random.cluster, cost_model);
    ASSERT_TRUE(plan) << ToString(plan.error());
    const double predicted = cost_model.PredictSeconds(*plan).value();
    const Stages stages = MakeStages(random.job, random.cluster);
    for (const BoundWitness& bound :
         LowerBounds(random.job, plan->demand, random.cluster, stages.resources,
                     stages.domains ? &stages.domains->weights : nullptr)) {
      EXPECT_GE(predicted, bound.seconds * (1 - 1e-9)) << bound.name << " " << bound.description;
    }
  }
}

}  // namespace
}  // namespace reshard
