#include "schedules/drawing/domain_frames.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

DomainSummary Summary(const char* type, std::int32_t sources, std::int32_t destinations) {
  DomainSummary summary;
  summary.type = type;
  summary.gpus = 8;
  summary.sources = sources;
  summary.destinations = destinations;
  summary.egress_bytes = 100;
  return summary;
}

TEST(DomainFramesTest, FewDomainsStandAlone) {
  DomainTraffic traffic;
  traffic.domains = {Summary("a", 8, 0), Summary("a", 0, 0), Summary("a", 0, 1)};
  const std::vector<DomainFrame> frames = MakeFrames(traffic, 2);
  ASSERT_EQ(frames.size(), 2U);  // one has no rank
  EXPECT_EQ(FrameTitle(frames[0]), "domain 0: a, 8 GPUs");
  EXPECT_EQ(FrameRoles(frames[0]), std::vector<std::string>{"8 source ranks"});
  EXPECT_EQ(FrameRoles(frames[1]), std::vector<std::string>{"1 destination rank"});
  EXPECT_FALSE(frames[0].is_binding);
  EXPECT_TRUE(frames[1].is_binding);
}

TEST(DomainFramesTest, OfManyThoseAlikeAreOne) {
  DomainTraffic traffic;
  for (int i = 0; i < 10; ++i) traffic.domains.push_back(Summary("a", 8, 0));
  for (int i = 0; i < 10; ++i) traffic.domains.push_back(Summary("a", 0, 8));
  const std::vector<DomainFrame> frames = MakeFrames(traffic, 15);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(FrameTitle(frames[1]), "domains 10-19: 10 of a, 80 GPUs together");
  EXPECT_EQ(frames[1].sum.egress_bytes, 1000);
  EXPECT_TRUE(frames[1].is_binding);
}

// Where types and ranks differ everywhere, the sides still make few frames.
TEST(DomainFramesTest, OfManyKindsThoseOfOneSideAreOne) {
  DomainTraffic traffic;
  for (int i = 1; i <= 10; ++i) traffic.domains.push_back(Summary("a", i, 0));
  for (int i = 1; i <= 10; ++i) traffic.domains.push_back(Summary("a", 0, i));
  const std::vector<DomainFrame> frames = MakeFrames(traffic, -1);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(FrameRoles(frames[0]), std::vector<std::string>{"55 source ranks"});
}

}  // namespace
}  // namespace reshard
