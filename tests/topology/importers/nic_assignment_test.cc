#include "topology/importers/nic_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using enum NicDistance;

using Gpus = std::vector<std::int32_t>;

NodeDescription NodeOf(std::vector<std::vector<NicDistance>> distances) {
  NodeDescription node;
  node.source = "file";
  for (std::size_t gpu = 0; gpu < distances.size(); ++gpu) {
    node.gpus.emplace_back().name = "GPU " + std::to_string(gpu);
  }
  for (std::size_t nic = 0; nic < distances.front().size(); ++nic) {
    node.nics.push_back({"mlx5_" + std::to_string(nic), std::to_string(nic), 50});
  }
  node.distances = std::move(distances);
  return node;
}

NicAssignment Assigned(const NodeDescription& node, const std::vector<NicOfGpu>& said = {}) {
  Result<NicAssignment> assignment = AssignNics(node, said);
  EXPECT_TRUE(assignment) << ToString(assignment.error());
  return assignment.value_or(NicAssignment());
}

TEST(NicAssignmentTest, TheNearestServesAndOthersAreLeftOut) {
  const NicAssignment assignment = Assigned(NodeOf(
      {{kSystem, kBridges, kSystem, kSystem}, {kOneBridge, kBridges, kSystem, kHostBridge}}));
  EXPECT_THAT(assignment.gpus, ElementsAre(Gpus{1}, Gpus{0}, Gpus{}, Gpus{}));
  EXPECT_THAT(assignment.assumptions, ElementsAre(HasSubstr("left out: mlx5_2, mlx5_3")));
}

TEST(NicAssignmentTest, EquallyNearOnesAreDealtInOrder) {
  EXPECT_THAT(Assigned(NodeOf({{kBridges, kBridges}, {kBridges, kBridges}})).gpus,
              ElementsAre(Gpus{0}, Gpus{1}));
  // Two NICs for each of two GPUs; two GPUs for each of two NICs.
  EXPECT_THAT(Assigned(NodeOf({{kOneBridge, kOneBridge, kOneBridge, kOneBridge},
                               {kOneBridge, kOneBridge, kOneBridge, kOneBridge}}))
                  .gpus,
              ElementsAre(Gpus{0}, Gpus{0}, Gpus{1}, Gpus{1}));
  EXPECT_THAT(Assigned(NodeOf({{kHostBridge, kHostBridge},
                               {kHostBridge, kHostBridge},
                               {kHostBridge, kHostBridge},
                               {kHostBridge, kHostBridge}}))
                  .gpus,
              ElementsAre(Gpus{0, 1}, Gpus{2, 3}));
}

TEST(NicAssignmentTest, WhatDoesNotDivideIsShared) {
  const NicAssignment assignment =
      Assigned(NodeOf({{kBridges, kBridges, kBridges}, {kBridges, kBridges, kBridges}}));
  EXPECT_THAT(assignment.gpus, ElementsAre(Gpus{0, 1}, Gpus{0, 1}, Gpus{0, 1}));
  EXPECT_THAT(assignment.assumptions, ElementsAre(HasSubstr("all serve all")));
}

TEST(NicAssignmentTest, OneNicOfTwoGpusIsNoAssumption) {
  const NicAssignment assignment = Assigned(NodeOf({{kOneBridge}, {kOneBridge}}));
  EXPECT_THAT(assignment.gpus, ElementsAre(Gpus{0, 1}));
  EXPECT_THAT(assignment.assumptions, IsEmpty());
}

TEST(NicAssignmentTest, OfEquallyNearOnesTheFastestServe) {
  NodeDescription node = NodeOf({{kOneBridge, kOneBridge}});
  node.nics[0].line_gbps = 1.25;
  EXPECT_THAT(Assigned(node).gpus, ElementsAre(Gpus{}, Gpus{0}));
}

TEST(NicAssignmentTest, WhereEveryPathIsSysItIsGuessedOrAsked) {
  const NicAssignment guessed = Assigned(NodeOf({{kSystem, kSystem}, {kSystem, kSystem}}));
  EXPECT_THAT(guessed.gpus, ElementsAre(Gpus{0}, Gpus{1}));
  EXPECT_THAT(guessed.assumptions,
              ElementsAre(HasSubstr("does not tell which NIC serves which GPU")));
  const Result<NicAssignment> asked =
      AssignNics(NodeOf({{kSystem, kSystem, kSystem}, {kSystem, kSystem, kSystem}}), {});
  EXPECT_EQ(ToString(asked.error()),
            "file: does not tell which of 3 NICs serve which of 2 GPUs: every path between them is "
            "SYS; say it, for example --nic-of 0=mlx5_0,1=mlx5_1");
}

TEST(NicAssignmentTest, TheUserWins) {
  const NodeDescription node = NodeOf({{kSystem, kSystem, kSystem}, {kSystem, kSystem, kSystem}});
  EXPECT_THAT(Assigned(node, {{0, "mlx5_2"}, {1, "NIC0"}, {1, "1"}}).gpus,
              ElementsAre(Gpus{1}, Gpus{1}, Gpus{0}));
  // The rest is dealt among the NICs that are not given away.
  EXPECT_THAT(Assigned(node, {{0, "0"}, {0, "2"}}).gpus, ElementsAre(Gpus{0}, Gpus{1}, Gpus{0}));
}

TEST(NicAssignmentTest, RefusesWhatTheNodeLacks) {
  const NodeDescription node = NodeOf({{kSystem}});
  const Result<NicAssignment> no_gpu = AssignNics(node, std::vector<NicOfGpu>{{1, "0"}});
  EXPECT_EQ(no_gpu.error().fault, Fault::kUsage);
  EXPECT_THAT(ToString(no_gpu.error()), HasSubstr("--nic-of 1=0: there are only GPUs 0 to 0"));
  const Result<NicAssignment> no_nic = AssignNics(node, std::vector<NicOfGpu>{{0, "eth0"}});
  EXPECT_THAT(ToString(no_nic.error()), HasSubstr("no such NIC in file"));
}

// Every GPU is served by nearest NICs only, and by one at least; rates being equal.
TEST(NicAssignmentTest, RandomNodesServeEveryGpuFromNearest) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::size_t gpus = 1 + random() % 8;
    const std::size_t nics = 1 + random() % 8;
    std::vector<std::vector<NicDistance>> distances(gpus);
    for (std::vector<NicDistance>& row : distances) {
      for (std::size_t nic = 0; nic < nics; ++nic) {
        row.push_back(static_cast<NicDistance>(random() % 4));
      }
    }
    const Result<NicAssignment> assignment = AssignNics(NodeOf(distances), {});
    if (!assignment) {
      for (const std::vector<NicDistance>& row : distances) {
        EXPECT_THAT(row, ::testing::Each(kSystem));
      }
      continue;
    }
    std::vector<int> serving(gpus, 0);
    for (std::size_t nic = 0; nic < nics; ++nic) {
      for (const std::int32_t gpu : assignment->gpus[nic]) {
        const std::vector<NicDistance>& row = distances[gpu];
        EXPECT_EQ(row[nic], *std::min_element(row.begin(), row.end()));
        ++serving[gpu];
      }
    }
    EXPECT_THAT(serving, ::testing::Each(::testing::Gt(0)));
  }
}

}  // namespace
}  // namespace reshard
