#include "simulator/traffic_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

// Two domains of two GPUs; ranks 0, 1 in the first, 2, 3 in the second.
class TrafficReplayTest : public ::testing::Test {
 protected:
  TrafficReplayTest() : cluster_(SampleCluster(2, 2)), constants_(FreeConstants()) {
    plan_ = SamplePlan(cluster_).plan;
    plan_.traffic.emplace();
  }

  TrafficPhase& AddPhase(std::size_t stream) {
    std::vector<TrafficStream>& streams = plan_.traffic->streams;
    if (streams.size() <= stream) streams.resize(stream + 1);
    TrafficPhase& phase = streams[stream].phases.emplace_back();
    phase.launches = 0;
    return phase;
  }

  double Microseconds() const { return SimulateSeconds(plan_, cluster_, constants_).value() * 1e6; }

  Cluster cluster_;
  Constants constants_;
  Plan plan_;
};

TEST_F(TrafficReplayTest, NothingTakesNoTime) {
  EXPECT_EQ(Microseconds(), 0);
  AddPhase(0);
  EXPECT_EQ(Microseconds(), 0);
}

TEST_F(TrafficReplayTest, FlowsOfAPhaseShareTheirLinksAndPhasesFollowEachOther) {
  // Both leave rank 0 over its NIC of 50 GB/s: 2 MB take 40 us.
  AddPhase(0).flows = {{0, 2, 1'000'000, 1, 0}, {0, 3, 1'000'000, 1, 0}};
  EXPECT_NEAR(Microseconds(), 40, 0.01);
  // Over NVLink of 400 GB/s, after the first phase: 10 us.
  AddPhase(0).flows = {{0, 1, 4'000'000, 1, 0}};
  EXPECT_NEAR(Microseconds(), 50, 0.01);
}

// 4 channels of 2 GB/s carry a send of 1 MB in 125 us; what goes by all channels, in the same
// stream and between the same ranks, has the NIC's 50 GB/s: 20 us more.
TEST_F(TrafficReplayTest, ASendHasItsPeersChannelsAndACollectiveAll) {
  constants_.network_channel_gbps = 2;
  AddPhase(0).flows = {{0, 2, 1'000'000, 1, 0}};
  EXPECT_NEAR(Microseconds(), 125, 0.01);
  TrafficPhase& collective = AddPhase(0);
  collective.is_send_receive = false;
  collective.flows = {{0, 2, 1'000'000, 1, 0}};
  EXPECT_NEAR(Microseconds(), 145, 0.01);
}

// 9 operations of 4 of 32 channels each are one batch of 64; with 32 channels a peer, two of 8.
TEST_F(TrafficReplayTest, OperationsBeyondABatchWaitUnlessTheyAreOfACollective) {
  constants_.batch_us = 7;
  AddPhase(0).flows = {{0, 2, 1'000'000, 9, 0}};
  EXPECT_NEAR(Microseconds(), 20, 0.01);
  plan_.channels.channels_per_net_peer = 32;
  EXPECT_NEAR(Microseconds(), 27, 0.01);
  plan_.traffic->streams[0].phases[0].is_send_receive = false;
  EXPECT_NEAR(Microseconds(), 20, 0.01);
}

TEST_F(TrafficReplayTest, StreamsRunInParallel) {
  AddPhase(0).flows = {{0, 2, 1'000'000, 1, 0}};
  AddPhase(1).flows = {{1, 3, 1'000'000, 1, 0}};
  EXPECT_NEAR(Microseconds(), 20, 0.01);
  AddPhase(2).flows = {{0, 3, 1'000'000, 1, 0}};
  EXPECT_NEAR(Microseconds(), 40, 0.01);  // shares rank 0's NIC out and rank 3's NIC in
}

TEST_F(TrafficReplayTest, AStreamWaitsForAllOfTheTurnBefore) {
  AddPhase(0).flows = {{0, 2, 1'000'000, 1, 0}};
  AddPhase(1).flows = {{1, 3, 2'000'000, 1, 0}};
  AddPhase(2).flows = {{0, 2, 1'000'000, 1, 0}};
  plan_.traffic->streams[2].turn = 1;
  EXPECT_NEAR(Microseconds(), 40 + 20, 0.01);
  // A turn of streams without phases holds nobody up.
  plan_.traffic->streams[2].turn = 2;
  plan_.traffic->streams.insert(plan_.traffic->streams.begin() + 2, TrafficStream{"", {}, 1});
  EXPECT_NEAR(Microseconds(), 40 + 20, 0.01);
}

TEST_F(TrafficReplayTest, PacksThenExchangesThenUnpacks) {
  // A byte copied is read and written: 1 MB at 1000 GB/s takes 2 us.
  TrafficPhase& phase = AddPhase(0);
  phase.flows = {{0, 2, 1'000'000, 1, 0}};
  phase.copies = {{0, 1'000'000, 0}, {2, 0, 2'000'000}};
  const SimulationResult result = Simulate(plan_, cluster_, constants_).value();
  EXPECT_NEAR(result.seconds * 1e6, 2 + 20 + 4, 0.01);
  EXPECT_NEAR(result.ranks[0].pack_end_seconds * 1e6, 2, 0.01);
  EXPECT_NEAR(result.ranks[2].exchange_end_seconds * 1e6, 22, 0.01);
  EXPECT_NEAR(result.ranks[2].unpack_end_seconds * 1e6, 26, 0.01);
  EXPECT_TRUE(result.round_end_seconds.empty());
}

TEST_F(TrafficReplayTest, CountedCostsArePaidPerRepeat) {
  constants_.eager_launch_us = 5;
  constants_.host_synchronization_us = 20;
  constants_.group_us = 8;
  constants_.batch_us = 14;
  for (Domain& domain : cluster_.domains) domain.network_latency_us = 10;
  TrafficPhase& phase = AddPhase(0);
  phase.repeats = 3;
  phase.launches = 2;
  phase.host_synchronizations = 1;
  phase.barriers = 1;
  phase.flows = {{0, 2, 1'000'000, 65, 0}, {1, 3, 1'000'000, 1, 0}};
  // A barrier of 4 ranks has 2 rounds of 10 us; 65 operations are 2 batches; each repeat ends a
  // hop's latency after its last byte.
  EXPECT_NEAR(Microseconds(), 3 * (2 * 5 + 20 + 2 * 10 + 8 + 14 + 20 + 10), 0.01);
}

TEST_F(TrafficReplayTest, APipelineFillsHopByHop) {
  for (Domain& domain : cluster_.domains) domain.network_latency_us = 10;
  TrafficPhase& phase = AddPhase(0);
  phase.chunk_bytes = 100'000;
  phase.flows = {{0, 2, 1'000'000, 1, 0}, {1, 0, 1'000'000, 1, 2}, {2, 1, 1'000'000, 1, 1}};
  // Two hops fill for 2 us of a chunk and 10 us of latency each; the third carries 1 MB over
  // NVLink in 2.5 us, while hop 1 ends at 12 + 20 and 10 us later.
  EXPECT_NEAR(Microseconds(), 12 + 20 + 10, 0.01);
  phase.flows[1] = {1, 3, 1'000'000, 1, 2};
  EXPECT_NEAR(Microseconds(), 2 * 12 + 20 + 10, 0.01);
  phase.repeats = 2;
  EXPECT_NEAR(Microseconds(), 2 * (2 * 12 + 20 + 10), 0.01);
}

TEST_F(TrafficReplayTest, EqualPhasesInARowAndOneRepeatedTakeEqualTime) {
  constants_.group_us = 8;
  for (Domain& domain : cluster_.domains) domain.network_latency_us = 10;
  TrafficPhase phase = AddPhase(0);
  phase.flows = {{0, 2, 700'000, 1, 0}, {0, 3, 300'000, 1, 0}, {1, 3, 500'000, 1, 0}};
  phase.copies = {{0, 1'000'000, 0}, {3, 0, 800'000}};
  plan_.traffic->streams[0].phases.assign(4, phase);
  const double in_a_row = Microseconds();
  phase.repeats = 4;
  plan_.traffic->streams[0].phases.assign(1, phase);
  EXPECT_NEAR(Microseconds(), in_a_row, 0.02);
}

TEST_F(TrafficReplayTest, CountsWhatPassesEachResource) {
  TrafficPhase& phase = AddPhase(0);
  phase.repeats = 2;
  phase.flows = {{0, 2, 1'000'000, 1, 0}, {0, 3, 500'000, 1, 0}, {2, 3, 100, 1, 0}};
  const SimulationResult result = Simulate(plan_, cluster_, constants_).value();
  const auto bytes_of = [&](const std::string& name) {
    for (const ResourceUse& use : result.resources) {
      if (use.name == name) return use.bytes;
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(bytes_of("NIC 0 out"), 3'000'000);
  EXPECT_EQ(bytes_of("NIC 2 in"), 2'000'000);
  EXPECT_EQ(bytes_of("NIC 3 in"), 1'000'000);
  EXPECT_EQ(bytes_of("GPU 2 NVLink out"), 200);
  EXPECT_EQ(bytes_of("NIC 1 out"), 0);
}

TEST_F(TrafficReplayTest, BytesWithoutAWayAreRefused) {
  cluster_.nics[2].gbps = 0;
  AddPhase(0).flows = {{0, 2, 1'000'000, 1, 0}};
  const auto seconds = SimulateSeconds(plan_, cluster_, constants_);
  ASSERT_FALSE(seconds);
  EXPECT_THAT(ToString(seconds.error()), ::testing::HasSubstr("GPU 2"));
}

}  // namespace
}  // namespace reshard
