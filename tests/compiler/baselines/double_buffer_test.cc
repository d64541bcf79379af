#include "compiler/baselines/double_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

BufferedStage Stage(std::int64_t buckets, std::int64_t collectives) {
  BufferedStage stage;
  stage.buckets = buckets;
  stage.collectives = collectives;
  stage.host_turns = collectives;
  stage.broadcast.flows = {{0, 2, 100, 1, 0}};
  stage.broadcast.copies = {{2, 0, 50}};
  if (collectives > 0) stage.gathers.emplace_back().flows = {{1, 0, 40, 1, 0}};
  return stage;
}

TEST(DoubleBufferTest, TheNextGatherGoesBesideTheBroadcast) {
  std::vector<TrafficStream> streams;
  AppendDoubleBuffered({Stage(4, 10)}, streams);
  ASSERT_THAT(streams, SizeIs(4));
  // The first gather, with its share of the turns; then the other three beside three broadcasts.
  EXPECT_EQ(streams[0].turn, 0);
  ASSERT_THAT(streams[0].phases, SizeIs(2));
  EXPECT_EQ(streams[0].phases[0].host_synchronizations, 3);
  EXPECT_EQ(streams[0].phases[1].repeats, 1);
  EXPECT_EQ(streams[1].turn, 1);
  ASSERT_THAT(streams[1].phases, SizeIs(2));
  EXPECT_EQ(streams[1].phases[0].host_synchronizations, 7);
  EXPECT_EQ(streams[1].phases[1].repeats, 3);
  EXPECT_EQ(streams[2].turn, 1);
  ASSERT_THAT(streams[2].phases, SizeIs(1));
  EXPECT_EQ(streams[2].phases[0].launches, 3);
  EXPECT_THAT(streams[2].phases[0].flows, ElementsAre(TrafficFlow{0, 2, 300, 3, 0}));
  EXPECT_THAT(streams[2].phases[0].copies, ElementsAre(TrafficCopy{2, 0, 150}));
  EXPECT_EQ(streams[3].turn, 2);
  ASSERT_THAT(streams[3].phases, SizeIs(1));
  EXPECT_THAT(streams[3].phases[0].flows, ElementsAre(TrafficFlow{0, 2, 100, 1, 0}));
}

TEST(DoubleBufferTest, WithoutGathersBroadcastsAreAllThereIs) {
  std::vector<TrafficStream> streams;
  AppendDoubleBuffered({Stage(4, 0), Stage(2, 0)}, streams);
  ASSERT_THAT(streams, SizeIs(1));
  ASSERT_THAT(streams[0].phases, SizeIs(2));
  EXPECT_EQ(streams[0].phases[0].launches, 4);
  EXPECT_EQ(streams[0].phases[1].launches, 2);
}

TEST(DoubleBufferTest, OneBucketIsGatheredThenBroadcast) {
  std::vector<TrafficStream> streams(1);
  AppendDoubleBuffered({Stage(1, 2)}, streams);
  ASSERT_THAT(streams, SizeIs(3));
  EXPECT_EQ(streams[1].turn, 1);  // after what was there
  EXPECT_EQ(streams[1].phases[0].host_synchronizations, 2);
  EXPECT_EQ(streams[2].turn, 2);
}

TEST(DoubleBufferTest, NothingAddsNothing) {
  std::vector<TrafficStream> streams;
  AppendDoubleBuffered({}, streams);
  EXPECT_THAT(streams, IsEmpty());
  EXPECT_EQ(BucketsOf(kBucketBytes + 1), 2);
  EXPECT_EQ(BufferedBytes(5 * kBucketBytes), 2 * kBucketBytes);
  EXPECT_EQ(BufferedBytes(7), 7);
}

}  // namespace
}  // namespace reshard
