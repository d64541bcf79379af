#include "compiler/planning/egress_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/cost_model.h"
#include "tests/compiler/domain_flow_oracle.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

// Domain 0 alone holds x, domains 0 and 1 both hold y, 2 GB each. x keeps domain 0 busy for 2 s at
// 1 GB/s, so all of y leaves domain 1.
TEST(AssignEgress, WhatOneDomainAloneHoldsGoesFirst) {
  const std::vector<TestDomain> domains{UniformDomain(1, 0, 1), UniformDomain(1, 0, 3),
                                        UniformDomain(1, 0, 100)};
  const Cluster cluster = MakeTestCluster(domains);
  JobRecordsBuilder builder;
  for (const char* name : {"x", "y"}) builder.AddTensor(name, DType::kU8, {2 * kGigabyte});
  const auto whole = [](const char* name) { return TestBox{name, {0}, {2 * kGigabyte}}; };
  builder.AddSource({whole("x"), whole("y")});
  builder.AddSource({whole("y")});
  builder.AddDestination({whole("x"), whole("y")});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  const DomainAssignment assignment =
      AssignEgress(stages.deliveries, stages.plan.demand, stages.resources);
  EXPECT_NEAR(assignment.seconds, 2, 1e-9);
  for (std::size_t g = 0; g < stages.deliveries.groups.size(); ++g) {
    const DeliveryGroup& group = stages.deliveries.groups[g];
    for (std::size_t c = 0; c < group.classes.size(); ++c) {
      const bool both = group.classes[c].holders.size() == 2;
      const std::vector<DomainShare>& shares = assignment.groups[g].of_class[c];
      ASSERT_EQ(shares.size(), both ? 2U : 1U);
      EXPECT_NEAR(shares[0].tree, both ? 0 : 1, 1e-9);
    }
  }
}

// On random jobs: shares of a class sum to one, name domains of its holders, and no domain is busy
// for longer than the time said, which bounds the exact program of all traffic from below.
TEST(AssignEgress, KeepsItsWord) {
  int looked_at = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 100;
    limits.long_factor = 1'000'000;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Stages stages = MakeStages(random.job, random.cluster);
    const DomainAssignment assignment =
        AssignEgress(stages.deliveries, stages.plan.demand, stages.resources);
    std::vector<double> sent(stages.resources.domains.size(), 0);
    for (std::size_t g = 0; g < stages.deliveries.groups.size(); ++g) {
      const DeliveryGroup& group = stages.deliveries.groups[g];
      for (std::size_t c = 0; c < group.classes.size(); ++c) {
        if (assignment.groups[g].of_class[c].empty()) continue;
        double sum = 0;
        const auto bytes = static_cast<double>(
            stages.plan.demand.classes[static_cast<std::size_t>(group.classes[c].demand_class)]
                .bytes);
        for (const DomainShare& share : assignment.groups[g].of_class[c]) {
          sum += share.tree;
          sent[static_cast<std::size_t>(share.domain)] += share.tree * bytes;
          EXPECT_TRUE(std::ranges::any_of(group.classes[c].holders, [&](RankIndex h) {
            return stages.resources.domain[static_cast<std::size_t>(h)] == share.domain;
          }));
        }
        EXPECT_NEAR(sum, 1, 1e-9);
        ++looked_at;
      }
    }
    for (std::size_t d = 0; d < sent.size(); ++d) {
      EXPECT_LE(
          sent[d],
          stages.resources.domains[d].network_gbps * 1e9 * assignment.seconds * (1 + 1e-6) + 16);
    }
    EXPECT_LE(
        assignment.seconds,
        FlowOptimumSeconds(random.job, stages.plan.demand, stages.resources) * (1 + 1e-6) + 1e-12);
  }
  EXPECT_GT(looked_at, 400);
}

}  // namespace
}  // namespace reshard
