#include "compiler/baselines/m2n_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;
using ::testing::SizeIs;

// The field notes' example: [256, 2048, 7168] BF16 in 16 parts by expert, to 16 engines of 8 on two
// domains of 64.
Plan PlanExperts(std::int32_t source_replicas) {
  JobRecordsBuilder builder;
  builder.AddTensor("moe", DType::kBF16, {256, 2048, 7168});
  for (std::int32_t replica = 0; replica < source_replicas; ++replica) {
    for (std::int64_t part = 0; part < 16; ++part) {
      builder.AddSource({{"moe", {16 * part, 0, 0}, {16, 2048, 7168}}});
    }
  }
  for (std::int64_t rank = 0; rank < 128; ++rank) {
    builder.AddDestination({{"moe", {0, 256 * (rank % 8), 0}, {256, 256, 7168}}});
  }
  const std::vector<TestDomain> domains = {UniformDomain(16 * source_replicas, 720, 48),
                                           UniformDomain(64, 720, 48), UniformDomain(64, 720, 48)};
  const Cluster cluster = MakeTestCluster(domains);
  return MakeBaselinePlan("m2n", builder.On(cluster), cluster);
}

constexpr std::int64_t kPiece = std::int64_t{16} * 256 * 7168 * 2;  // 58.72 MB

// Of one hop of the phase's ring.
std::vector<TrafficFlow> FlowsOfHop(const TrafficPhase& phase, std::int32_t hop) {
  std::vector<TrafficFlow> flows;
  for (const TrafficFlow& flow : phase.flows) {
    if (flow.hop == hop) flows.push_back(flow);
  }
  return flows;
}

std::map<RankIndex, std::int64_t> BytesBy(const std::vector<TrafficFlow>& flows,
                                          RankIndex TrafficFlow::*end) {
  std::map<RankIndex, std::int64_t> bytes;
  for (const TrafficFlow& flow : flows) bytes[flow.*end] += flow.bytes;
  return bytes;
}

TEST(M2nPlannerTest, OneReplicaInjectsOnceAndALeaderOfEachShardPassesOn) {
  const Plan plan = PlanExperts(1);
  ASSERT_EQ(plan.traffic->streams.size(), 1U);
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_EQ(phases.size(), 2U);  // injection, one hop and stores; synchronisation
  const std::vector<TrafficFlow> injection = FlowsOfHop(phases[0], 0);
  // A leader stores what it has while it passes it on.
  std::vector<TrafficFlow> hop;
  std::vector<TrafficFlow> stores;
  for (const TrafficFlow& flow : phases[0].flows) {
    if (flow.from < 16) continue;
    (flow.to == flow.from + 64 ? hop : stores).push_back(flow);
  }
  EXPECT_THAT(injection, AllOf(SizeIs(16 * 8), Each(Field(&TrafficFlow::bytes, kPiece))));
  EXPECT_THAT(BytesBy(injection, &TrafficFlow::from),
              AllOf(SizeIs(16), Each(Pair(testing::_, 8 * kPiece))));
  EXPECT_THAT(BytesBy(injection, &TrafficFlow::to),
              AllOf(SizeIs(64), Each(Pair(testing::_, 2 * kPiece))));
  EXPECT_THAT(hop, AllOf(SizeIs(64), Each(Field(&TrafficFlow::bytes, 2 * kPiece))));
  for (const TrafficFlow& flow : hop) EXPECT_EQ(flow.to, flow.from + 64);
  // 16 experts of 256 rows are 16 runs: the second hop waits for a chunk of each of 8 blocks.
  EXPECT_EQ(phases[0].chunk_bytes, 8 * 256 * 1024);
  // Each of the 128 leaders stores to 7 followers.
  EXPECT_THAT(stores, AllOf(SizeIs(128 * 7), Each(Field(&TrafficFlow::bytes, 2 * kPiece))));
  EXPECT_THAT(BytesBy(stores, &TrafficFlow::from),
              AllOf(SizeIs(128), Each(Pair(testing::_, 14 * kPiece))));
  EXPECT_TRUE(phases[1].flows.empty());
}

TEST(M2nPlannerTest, AReplicaForEachDomainNeedsNoRing) {
  const Plan plan = PlanExperts(2);
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_EQ(phases.size(), 2U);
  const std::vector<TrafficFlow> injection = FlowsOfHop(phases[0], 0);
  EXPECT_THAT(BytesBy(injection, &TrafficFlow::from),
              AllOf(SizeIs(32), Each(Pair(testing::_, 8 * kPiece))));
  EXPECT_THAT(BytesBy(injection, &TrafficFlow::to),
              AllOf(SizeIs(128), Each(Pair(testing::_, 2 * kPiece))));
}

TEST(M2nPlannerTest, AHeadWithoutTheShardIsPassedOver) {
  // Engines of 16 over 26 domains of 8: shards 0-7 on the even ones, 8-15 on the odd ones. 210
  // ranks, so K = 2: the source sends each shard once, and 12 hops pass it on.
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kF32, {16, 4});
  for (int i = 0; i < 2; ++i) builder.AddSource({Rows("w", 0, 16, 4)});
  for (int rank = 0; rank < 208; ++rank)
    builder.AddDestination(ChunkedRows("w", 16, 4, 16, rank % 16));
  std::vector<TestDomain> domains(27, UniformDomain(8, 400, 50));
  domains[0] = UniformDomain(2, 400, 50);
  const Cluster cluster = MakeTestCluster(domains);
  const Plan plan = MakeBaselinePlan("m2n", builder.On(cluster), cluster);
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_THAT(BytesBy(FlowsOfHop(phases[0], 0), &TrafficFlow::from), ElementsAre(Pair(0, 256)));
  for (std::int32_t hop = 1; hop <= 12; ++hop) {
    const std::vector<TrafficFlow> flows = FlowsOfHop(phases[0], hop);
    ASSERT_THAT(flows, SizeIs(16));
    for (const TrafficFlow& flow : flows) EXPECT_EQ(flow.to, flow.from + 16);
  }
  EXPECT_THAT(FlowsOfHop(phases[0], 13), SizeIs(0));
  EXPECT_THAT(phases[1].flows, SizeIs(0));  // one replica to a domain: no followers
}

// Layers of 8 x 4 F32, one to each of `stages` trainers in a row, to an engine on each of `engines`
// domains.
Plan PlanStages(int stages, int engines) {
  JobRecordsBuilder builder;
  std::vector<std::vector<TestBox>> held;
  std::vector<TestBox> needed;
  for (int stage = 0; stage < stages; ++stage) {
    const std::string name = "l." + std::to_string(stage) + ".w";
    builder.AddTensor(name, DType::kF32, {8, 4});
    held.push_back({Rows(name, 0, 8, 4)});
    needed.push_back(Rows(name, 0, 8, 4));
  }
  for (const auto& boxes : held) builder.AddSource(boxes);
  for (int engine = 0; engine < engines; ++engine) builder.AddDestination(needed);
  const Cluster cluster = UniformCluster(stages + engines, 1, 0, 50);
  const std::string last = std::to_string(stages - 1);
  return MakeBaselinePlan("m2n", builder.On(cluster), cluster,
                          R"({"source": {"gpus": "0-)" + last +
                              R"(", "layout": {"megatron": {"pipeline": )" +
                              std::to_string(stages) + "}}}}");
}

TEST(M2nPlannerTest, CommunicatorsAreAtDifferentHopsOfARing) {
  // Ring of 4 hops (the injection and 3 more). One communicator: each of 3 fillings is a whole
  // tensor of 128 bytes. Two: what waits is 4 - 2 = 2 tensors, over 3 fillings. Four or more keep
  // every hop busy.
  EXPECT_EQ(PlanStages(1, 4).traffic->streams[0].phases[0].chunk_bytes, 128);
  EXPECT_EQ(PlanStages(2, 4).traffic->streams[0].phases[0].chunk_bytes, 128 * 2 / 3);
  EXPECT_EQ(PlanStages(4, 4).traffic->streams[0].phases[0].chunk_bytes, 1);
  EXPECT_EQ(PlanStages(5, 4).traffic->streams[0].phases[0].chunk_bytes, 1);
}

TEST(M2nPlannerTest, PatternsFollowEachOtherAndTensorsOfOneRepeat) {
  // Stage 0 has two layers, stage 1 one: two repeats, the bytes of stage 1 halved.
  JobRecordsBuilder builder;
  for (const char* name : {"l.0.w", "l.1.w", "l.2.w", "norm"}) {
    builder.AddTensor(name, DType::kF32, {8, 4});
  }
  builder.AddSource({Rows("l.0.w", 0, 8, 4), Rows("l.1.w", 0, 8, 4)});
  builder.AddSource({Rows("l.2.w", 0, 8, 4), Rows("norm", 0, 8, 4)});
  builder.AddDestination({Rows("l.0.w", 0, 8, 4), Rows("l.1.w", 0, 8, 4), Rows("l.2.w", 0, 8, 4),
                          Rows("norm", 0, 8, 4)});
  const Cluster cluster = UniformCluster(3, 1, 0, 50);
  const Plan plan =
      MakeBaselinePlan("m2n", builder.On(cluster), cluster,
                       R"({"source": {"gpus": "0-1", "layout": {"megatron": {"pipeline": 2}}}})");
  const std::vector<TrafficPhase>& phases = plan.traffic->streams[0].phases;
  ASSERT_EQ(phases.size(), 6U);
  EXPECT_EQ(phases[0].repeats, 2);
  EXPECT_EQ(phases[0].launches, 1);
  EXPECT_EQ(phases[0].host_synchronizations, 1);
  EXPECT_EQ(phases[0].barriers, 2);
  EXPECT_THAT(phases[0].flows,
              ElementsAre(TrafficFlow{0, 2, 128, 1, 0}, TrafficFlow{1, 2, 64, 1, 0}));
  EXPECT_THAT(phases[0].copies, ElementsAre(TrafficCopy{0, 128, 0}, TrafficCopy{1, 64, 0}));
  EXPECT_EQ(phases[1].repeats, 2);
  EXPECT_EQ(phases[1].launches, 0);
  EXPECT_EQ(phases[1].host_synchronizations, 0);
  EXPECT_THAT(phases[1].copies, ElementsAre(TrafficCopy{2, 0, 192}));
  EXPECT_EQ(phases[2].host_synchronizations, 1);
  EXPECT_EQ(phases[3].repeats, 1);
  EXPECT_THAT(phases[3].flows, ElementsAre(TrafficFlow{1, 2, 128, 1, 0}));
  EXPECT_THAT(plan.traffic->staging_bytes, ElementsAre(128, 128, 192));
}

TEST(M2nPlannerTest, ExpertsAreStacked) {
  // Two trainers with two experts each, one engine of two that cuts columns: B(s, d) is both
  // experts' columns at once.
  JobRecordsBuilder builder;
  std::vector<std::vector<TestBox>> held(2);
  std::vector<std::vector<TestBox>> needed(2);
  for (int expert = 0; expert < 4; ++expert) {
    const std::string name = "experts." + std::to_string(expert) + ".w";
    builder.AddTensor("a." + name, DType::kF32, {8, 4});
    held[static_cast<std::size_t>(expert / 2)].push_back(Rows("a." + name, 0, 8, 4));
    for (std::int64_t d = 0; d < 2; ++d) {
      needed[static_cast<std::size_t>(d)].push_back({"a." + name, {0, 2 * d}, {8, 2}});
    }
  }
  for (const auto& boxes : held) builder.AddSource(boxes);
  for (const auto& boxes : needed) builder.AddDestination(boxes);
  const Cluster cluster = UniformCluster(2, 2, 400, 50);
  const Plan plan = MakeBaselinePlan("m2n", builder.On(cluster), cluster);
  EXPECT_THAT(plan.traffic->streams[0].phases[0].flows,
              ElementsAre(TrafficFlow{0, 2, 128, 1, 0}, TrafficFlow{0, 3, 128, 1, 0},
                          TrafficFlow{1, 2, 128, 1, 0}, TrafficFlow{1, 3, 128, 1, 0}));
  EXPECT_EQ(plan.traffic->streams[0].phases[0].repeats, 1);
  EXPECT_TRUE(plan.traffic->omissions.empty());
}

TEST(M2nPlannerTest, ScalesOfDenseWeightsGoWholeToAll) {
  JobRecordsBuilder builder;
  builder.AddTensor("w_scale_inv", DType::kF32, {5, 4});
  builder.AddSource({Rows("w_scale_inv", 0, 5, 4)});
  for (int i = 0; i < 2; ++i) builder.AddDestination(ChunkedRows("w_scale_inv", 5, 4, 2, i));
  const Cluster cluster = UniformCluster(3, 1, 0, 50);
  const Plan plan = MakeBaselinePlan("m2n", builder.On(cluster), cluster);
  // Two domains, one source replica: to the first, and on.
  EXPECT_THAT(BytesByEnds(plan), ElementsAre(Pair(Ends(0, 1), 80), Pair(Ends(1, 2), 80)));
}

TEST(M2nPlannerTest, SaysWhatItCannotExpress) {
  JobRecordsBuilder builder;
  builder.AddTensor("a.experts.0.w", DType::kF32, {8, 4});
  builder.AddTensor("a.experts.1.w", DType::kF32, {8, 4});
  builder.AddTensor("dims", DType::kF32, {1, 1, 8, 4});
  builder.AddTensor("even", DType::kF32, {8, 4});
  builder.AddTensor("mesh", DType::kF32, {8, 4});
  builder.AddTensor("uneven", DType::kF32, {8, 4});
  for (std::int64_t i = 0; i < 2; ++i) {
    builder.AddSource({Rows("a.experts.0.w", 4 * i, 4 * i + 4, 4),
                       Rows("a.experts.1.w", 4 * i, 4 * i + 4, 4),
                       {"dims", {0, 0, 0, 0}, {1, 1, 8, 4}},
                       Rows("even", 4 * i, 4 * i + 4, 4),
                       Rows("mesh", 0, 8, 4),
                       Rows("uneven", 3 * i, 3 + 5 * i, 4)});
  }
  // Of "mesh", ranks 2, 3 and 6, 7 have one half each: replicas on both sides of the shard's axis.
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t half = i / 2 % 2;
    builder.AddDestination({Rows("a.experts.0.w", 0, 8, 4),
                            Rows("a.experts.1.w", 0, 8, 4),
                            {"dims", {0, 0, 0, 0}, {1, 1, 8, 4}},
                            Rows("even", 0, 8, 4),
                            Rows("mesh", 4 * half, 4 * half + 4, 4),
                            Rows("uneven", 0, 8, 4)});
  }
  const Cluster cluster = UniformCluster(5, 2, 400, 50);
  const Plan plan = MakeBaselinePlan("m2n", builder.On(cluster), cluster);
  EXPECT_THAT(plan.traffic->omissions,
              ElementsAre(Omission{2, 1, "not of 1 to 3 dims", 1024},
                          Omission{4, 1, "on the destination no mesh of shards and replicas", 512},
                          Omission{5, 1, "on the source cut into unequal parts", 1024},
                          Omission{0, 2, "on the source experts are cut themselves", 2048}));
}

TEST(M2nPlannerTest, AtMostSixteenSourceShardsMeetADestinationShard) {
  for (const std::int64_t shards : {16, 17}) {
    JobRecordsBuilder builder;
    builder.AddTensor("w", DType::kF32, {17 * 16, 4});
    for (std::int64_t i = 0; i < shards; ++i)
      builder.AddSource(ChunkedRows("w", 17 * 16, 4, shards, i));
    builder.AddDestination({Rows("w", 0, 17 * 16, 4)});
    const Cluster cluster = UniformCluster(2, 16, 400, 50);
    const Plan plan = MakeBaselinePlan("m2n", builder.On(cluster), cluster);
    EXPECT_EQ(plan.traffic->omissions.size(), shards == 16 ? 0U : 1U);
  }
}

}  // namespace
}  // namespace reshard
