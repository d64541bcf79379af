#include "compiler/planning/nic_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::Each;
using testing::ElementsAre;

// Four ranks of one rail set in domain 0, NICs of 50 GB/s.
class NicLevelsTest : public testing::Test {
 protected:
  NicLevelsTest() : cluster_(UniformCluster(2, 4, 400, 50)), job_(Ranks(cluster_)) {
    resources_ = MakeRankResources(job_, cluster_).value();
  }
  static JobRecords Ranks(const Cluster& cluster) {
    JobRecordsBuilder builder;
    builder.AddTensor("w", DType::kU8, {8});
    for (int r = 0; r < 8; ++r) builder.AddSource({{"w", {0}, {8}}});
    return builder.On(cluster);
  }
  NicLevels Levels(double least_seconds) {
    bundles_.emplace_back(job_, cluster_, resources_);
    return {resources_, bundles_.back(), least_seconds};
  }

  Cluster cluster_;
  JobRecords job_;
  RankResources resources_;
  std::vector<RailBundles> bundles_;
};

// 800 MB that ranks 0 and 1 are preferred for, 200 MB a NIC on the mean: 200 MB and a little stay
// with each of them.
TEST_F(NicLevelsTest, WhatIsTooMuchGoesToOthers) {
  std::vector<double> loads(8, 0.0);
  const auto dealt = Levels(0).Deal({{800'000'000, {0, 1}, {2, 3}}}, loads);
  ASSERT_EQ(dealt.size(), 1U);
  std::int64_t bytes = 0;
  for (const auto& share : dealt[0]) bytes += share.second;
  EXPECT_EQ(bytes, 800'000'000);
  for (int r = 0; r < 4; ++r) {
    EXPECT_NEAR(loads[static_cast<std::size_t>(r)], 200e6, 2e6) << r;
  }
}

// 400 MB take 8 ms on one NIC: not worth a hop where 10 ms do not bind.
TEST_F(NicLevelsTest, WhatDoesNotBindStays) {
  std::vector<double> loads(8, 0.0);
  const auto dealt = Levels(0.01).Deal({{800'000'000, {0, 1}, {2, 3}}}, loads);
  EXPECT_THAT(loads, ElementsAre(400e6, 400e6, 0, 0, 0, 0, 0, 0));
}

// 400 MB in domain 0 are 2 ms of each of its NICs: 100 MB and a little; in domain 1 the least that
// counts.
TEST_F(NicLevelsTest, LimitsAreByDomain) {
  const std::vector<double> limits = Levels(0.001).Limits({{{0, 0}, 400e6}});
  EXPECT_THAT(std::vector(limits.begin(), limits.begin() + 4), Each(testing::DoubleEq(100.2e6)));
  EXPECT_THAT(std::vector(limits.begin() + 4, limits.end()), Each(testing::DoubleEq(50e6)));
}

}  // namespace
}  // namespace reshard
