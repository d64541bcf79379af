#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "schedules/verifier.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string TrafficVerdict(void (*damage)(Plan& plan)) {
  Plan plan = SmallTrafficPlan();
  damage(plan);
  const auto verified = Verify(plan);
  return verified ? "accepted" : ToString(verified.error());
}

TrafficPhase& Chain(Plan& plan) { return plan.traffic->streams[0].phases[0]; }

TEST(VerifyTrafficTest, ReportsWhatPromisesFourAndFiveLimit) {
  Plan plan = SmallTrafficPlan();
  plan.job.options.max_ops_per_group = 1;
  plan.job.options.max_peers = 1;
  plan.job.options.staging_bytes = 16;
  const auto verified = Verify(plan);
  ASSERT_TRUE(verified) << ToString(verified.error());
  EXPECT_EQ(verified->ops_per_group_max, 5);  // rank 2 receives 3 and sends 2
  EXPECT_EQ(verified->staging_bytes_max, 200);
  EXPECT_EQ(verified->staging_rank, 2);
  EXPECT_EQ(verified->peers_max, 3);  // rank 0: ranks 2, 3 and 4
  // All but 2 -> 1 and the like cross domains: ranks 0 and 1 share one, ranks 2 to 4 another.
  EXPECT_EQ(verified->network_bytes, 200 + 72 + 2 * 64);
  EXPECT_EQ(verified->nvlink_bytes, 0);
}

TEST(VerifyTrafficTest, ACompletePlanNeedsEveryByteThatIsLacked) {
  EXPECT_EQ(TrafficVerdict([](Plan& p) { Chain(p).flows[0].bytes = 201; }), "accepted");
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).flows[0].bytes = 199; }),
              HasSubstr("rank 2: 199 bytes arrive of the 200 that it lacks (promise 1)"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.traffic->streams[1].phases[0].repeats = 1; }),
              HasSubstr("rank 3: 32 bytes arrive of the 64 that it lacks"));
}

TEST(VerifyTrafficTest, WhatDoesNotMoveIsNamed) {
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.traffic->class_bytes[1] = 60; }),
              HasSubstr("8 bytes do not move, 0 of them are named"));
  EXPECT_EQ(TrafficVerdict([](Plan& p) {
              p.traffic->class_bytes[1] = 60;
              p.traffic->omissions = {{0, 1, "too odd a layout", 8}};
            }),
            "accepted");
  EXPECT_THAT(TrafficVerdict([](Plan& p) {
                p.traffic->omissions = {{0, 1, "", 0}};
              }),
              HasSubstr("has no reason"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.traffic->class_bytes[1] = 65; }),
              HasSubstr("class 1: 65 of its 64 bytes are said to move"));
}

TEST(VerifyTrafficTest, IllegalFlowsAreRefused) {
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).flows[1].to = 2; }),
              HasSubstr("a flow without bytes, operations or two ends"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).flows[0].operations = 0; }),
              HasSubstr("a flow without bytes, operations or two ends"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { std::swap(Chain(p).flows[0], Chain(p).flows[1]); }),
              HasSubstr("flows do not ascend by their ends"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).flows[1].to = 5; }),
              HasSubstr("names a rank that is not there"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).flows[1].hop = 2; }),
              HasSubstr("on a hop beyond the last"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).chunk_bytes = 0; }),
              HasSubstr("in chunks of no size"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { Chain(p).barriers = -1; }),
              HasSubstr("a count is negative"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) {
                Chain(p).copies = {{2, 0, 1}, {1, 0, 1}};
              }),
              HasSubstr("copies are negative or do not ascend"));
}

TEST(VerifyTrafficTest, TurnsOfStreamsAscendOneByOne) {
  EXPECT_EQ(TrafficVerdict([](Plan& p) { p.traffic->streams[1].turn = 1; }), "accepted");
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.traffic->streams[1].turn = 2; }),
              HasSubstr("stream 1: turns do not ascend from 0 one by one"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.traffic->streams[1].turn = -1; }),
              HasSubstr("stream 1: turns do not ascend"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) {
                for (TrafficStream& stream : p.traffic->streams) stream.turn = 1;
              }),
              HasSubstr("stream 0: turns do not ascend"));
}

TEST(VerifyTrafficTest, AmountsBeyondSixtyThreeBitsAreRefused) {
  EXPECT_THAT(TrafficVerdict([](Plan& p) {
                Chain(p).flows[0].bytes = std::numeric_limits<std::int64_t>::max();
                Chain(p).repeats = 2;
              }),
              HasSubstr("exceed 2^63"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) {
                Chain(p).copies[0].packed_bytes = std::numeric_limits<std::int64_t>::max();
              }),
              HasSubstr("exceed 2^63"));
}

TEST(VerifyTrafficTest, ASimulationOnlyPlanHasNothingToReplay) {
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.round_count = 1; }),
              HasSubstr("a simulation-only plan has rounds, columns or transfers"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) {
                p.schedules[3].waits.push_back({Lane::kPack, Lane::kExchange, 1});
              }),
              HasSubstr("rank 3: it has a schedule in a simulation-only plan"));
  EXPECT_THAT(TrafficVerdict([](Plan& p) { p.traffic->class_bytes.pop_back(); }),
              HasSubstr("it has not a row for each rank and each class"));
}

}  // namespace
}  // namespace reshard
