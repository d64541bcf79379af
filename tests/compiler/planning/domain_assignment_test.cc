#include "compiler/planning/domain_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/compiler/domain_flow_oracle.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

constexpr std::int64_t kHundredMegabytes = 100'000'000;

TestBox Whole(const std::string& tensor) { return {tensor, {0}, {kHundredMegabytes}}; }

// Two domains that swap a tensor each: 1 ms each way at 100 GB/s, nothing for anyone to relay.
TEST(AssignDomains, TwoDomainsSwap) {
  const Cluster cluster = UniformCluster(2, 1, 0, 100);
  JobRecordsBuilder builder;
  builder.AddTensor("x", DType::kU8, {kHundredMegabytes});
  builder.AddTensor("y", DType::kU8, {kHundredMegabytes});
  builder.AddBoth({Whole("x")}, {Whole("y")});
  builder.AddBoth({Whole("y")}, {Whole("x")});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  ASSERT_TRUE(stages.domains);
  EXPECT_NEAR(stages.domains->seconds, 1e-3, 1e-9);
}

// Sides that share no domain are left to the ranks.
TEST(AssignDomains, NoneWhereSidesAreApart) {
  const Cluster cluster = UniformCluster(2, 1, 0, 100);
  JobRecordsBuilder builder;
  builder.AddTensor("x", DType::kU8, {kHundredMegabytes});
  builder.AddSource({Whole("x")});
  builder.AddDestination({Whole("x")});
  EXPECT_FALSE(MakeStages(builder.On(cluster), cluster).domains);
}

// The program is the field's own, in another form: never better than it, and in nearly all cases as
// good. Shares are shares whatever the bytes, from one to billions.
TEST(AssignDomains, ReachesTheFlowOptimum) {
  int compared = 0;
  int reached = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = seed % 3 == 0 ? 0 : 60;
    limits.long_factor = 1'000'000;
    limits.plain_machine = seed % 2 == 0;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Stages stages = MakeStages(random.job, random.cluster);
    if (!stages.domains) continue;
    const double optimum = FlowOptimumSeconds(random.job, stages.plan.demand, stages.resources);
    EXPECT_GE(stages.domains->seconds, optimum * (1 - 1e-6));
    EXPECT_LE(stages.domains->seconds, optimum * 1.34);
    ++compared;
    reached += stages.domains->seconds <= optimum * 1.001 ? 1 : 0;
    for (std::size_t g = 0; g < stages.deliveries.groups.size(); ++g) {
      const GroupAssignment& group = stages.domains->groups[g];
      double entering = 0;
      for (const DomainShare& entry : group.entries) entering += entry.tree;
      if (!group.entries.empty()) {
        EXPECT_NEAR(entering, 1, 1e-6);
      }
      for (std::size_t c = 0; c < group.of_class.size(); ++c) {
        double leaving = 0;
        for (const DomainShare& share : group.of_class[c]) {
          EXPECT_GE(share.tree, 0);
          EXPECT_GE(share.star, 0);
          leaving += share.tree + share.star;
        }
        // Less than the solver can tell apart comes out as nothing; the rest is all of the class.
        const auto bytes =
            static_cast<double>(stages.plan.demand
                                    .classes[static_cast<std::size_t>(
                                        stages.deliveries.groups[g].classes[c].demand_class)]
                                    .bytes);
        if (bytes > 1e-3 * static_cast<double>(stages.deliveries.groups[g].bytes) &&
            limits.long_tensors == 0) {
          EXPECT_NEAR(leaving, 1, 1e-3);
        }
      }
    }
  }
  EXPECT_GT(compared, 150);
  EXPECT_GT(reached, compared * 9 / 10);
}

}  // namespace
}  // namespace reshard
