#include "compiler/planning/alike_nics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;

// A domain for each list, of as many ranks as it has rates of NICs.
RankResources Domains(const std::vector<std::vector<double>>& gbps) {
  RankResources resources;
  for (const std::vector<double>& rates : gbps) {
    DomainResources& domain = resources.domains.emplace_back();
    for (const double rate : rates) {
      domain.ranks.push_back(static_cast<RankIndex>(resources.domain.size()));
      domain.network_gbps += rate;
      resources.domain.push_back(static_cast<DomainIndex>(resources.domains.size()) - 1);
      resources.nvlink_gbps.push_back(400);
      resources.network_gbps.push_back(rate);
      resources.network_peak_gbps.push_back(rate);
      resources.rail.push_back(static_cast<std::int32_t>(domain.ranks.size()) - 1);
    }
  }
  return resources;
}

TEST(WithAlikeNics, NoneWhereAllAreAlike) {
  EXPECT_FALSE(WithAlikeNics(Domains({{50, 50}, {25, 25, 25}}), RailCrossing::kFull));
}

// The third NIC of the first domain is as the others of it, whatever those of the second are.
TEST(WithAlikeNics, AnOddNicIsDealtAsMostOfItsDomainAre) {
  const RankResources resources = Domains({{50, 50, 100, 50}, {25, 20, 25}});
  const std::optional<RankResources> alike = WithAlikeNics(resources, RailCrossing::kFull);
  ASSERT_TRUE(alike);
  EXPECT_THAT(alike->DealtGbps(), ElementsAre(50, 50, 50, 50, 25, 25, 25));
  EXPECT_EQ(alike->network_gbps, resources.network_gbps);
}

// Nothing depends on what is faster; what is slower is not counted on for more than it is.
TEST(WithAlikeNics, OthersLeaveToANicNoMoreThanItIsAndIsDealt) {
  const std::optional<RankResources> alike =
      WithAlikeNics(Domains({{50, 50, 50, 100, 20}, {50}}), RailCrossing::kFull);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->CountedGbps(RankIndex{3}), 50);
  EXPECT_EQ(alike->CountedGbps(RankIndex{4}), 20);
  EXPECT_EQ(alike->CountedGbps(alike->domains[0]), 220);
  EXPECT_THAT(alike->network_peak_gbps, ElementsAre(50, 50, 50, 50, 20, 50));
}

TEST(WithAlikeNics, WhereNoRateIsThatOfMostItIsTheirMean) {
  const std::optional<RankResources> alike =
      WithAlikeNics(Domains({{40, 20, 40, 20}}), RailCrossing::kFull);
  ASSERT_TRUE(alike);
  EXPECT_THAT(alike->DealtGbps(), ElementsAre(30, 30, 30, 30));
}

TEST(WithAlikeNics, NicsThatAreDeadStayDead) {
  const std::optional<RankResources> alike =
      WithAlikeNics(Domains({{50, 0, 50, 50, 51}}), RailCrossing::kFull);
  ASSERT_TRUE(alike);
  EXPECT_THAT(alike->DealtGbps(), ElementsAre(50, 0, 50, 50, 50));
  EXPECT_FALSE(WithAlikeNics(Domains({{50, 0, 50}}), RailCrossing::kFull));
}

TEST(WithAlikeNics, RailsMeetWhereAnythingCrosses) {
  RankResources resources = Domains({{50, 50}});
  resources.rails_meet = false;
  const std::optional<RankResources> spine = WithAlikeNics(resources, RailCrossing::kSpine);
  ASSERT_TRUE(spine);
  EXPECT_TRUE(spine->rails_meet);
  EXPECT_FALSE(WithAlikeNics(resources, RailCrossing::kNone));
}

}  // namespace
}  // namespace reshard
