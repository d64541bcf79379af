#include "topology/importers/node_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

using enum NicDistance;

NodeDescription NodeOf(std::string source, std::vector<std::vector<NicDistance>> distances,
                       std::int64_t nvlinks) {
  NodeDescription node;
  node.source = std::move(source);
  for (std::size_t gpu = 0; gpu < distances.size(); ++gpu) {
    DescribedGpu& described = node.gpus.emplace_back();
    described.name = "GPU " + std::to_string(gpu);
    described.nvlinks = nvlinks;
  }
  for (std::size_t nic = 0; nic < distances.front().size(); ++nic) {
    node.nics.push_back({"mlx5_" + std::to_string(nic), std::to_string(nic), std::nullopt});
  }
  node.distances = std::move(distances);
  return node;
}

NodeDescription Merged(const NodeDescription& nccl, const NodeDescription& smi) {
  Result<NodeDescription> merged = MergeNode(nccl, smi);
  EXPECT_TRUE(merged) << ToString(merged.error());
  return merged.value_or(NodeDescription());
}

TEST(NodeMergeTest, EachTellsWhatTheOtherCannot) {
  // The XML knows device and rate, the matrix NVLinks and distances.
  NodeDescription nccl = NodeOf("node.xml", {{kSystem, kSystem}, {kSystem, kOneBridge}}, 0);
  nccl.gpus[0].device = "0x2330";
  nccl.nics[1].line_gbps = 50;
  NodeDescription smi = NodeOf("topo.txt", {{kOneBridge, kSystem}, {kSystem, kOneBridge}}, 18);
  smi.gpus[1].nvlink_island = 1;
  const NodeDescription merged = Merged(nccl, smi);
  EXPECT_EQ(merged.source, "node.xml with topo.txt");
  EXPECT_EQ(merged.gpus[0].device, "0x2330");
  EXPECT_EQ(merged.gpus[0].nvlinks, 18);
  EXPECT_EQ(merged.gpus[1].nvlink_island, 1);
  EXPECT_EQ(merged.nics[1].line_gbps, 50);
  EXPECT_THAT(merged.distances,
              ElementsAre(ElementsAre(kOneBridge, kSystem), ElementsAre(kSystem, kOneBridge)));
  EXPECT_THAT(merged.assumptions, ElementsAre(HasSubstr("describe one node")));
}

TEST(NodeMergeTest, ContradictionsAreNamedAndTheXmlHolds) {
  // That a placed NIC is far from GPU 1 is told, too.
  const NodeDescription nccl = NodeOf("node.xml", {{kOneBridge}, {kSystem}}, 18);
  const NodeDescription smi = NodeOf("topo.txt", {{kBridges}, {kOneBridge}}, 9);
  const NodeDescription merged = Merged(nccl, smi);
  EXPECT_EQ(merged.gpus[0].nvlinks, 18);
  EXPECT_THAT(merged.distances, ElementsAre(ElementsAre(kOneBridge), ElementsAre(kSystem)));
  EXPECT_THAT(merged.assumptions,
              Contains("GPU 0 has 18 NVLinks in node.xml and 9 in topo.txt, and 1 more like it: "
                       "taken as in node.xml"));
  EXPECT_THAT(merged.assumptions,
              Contains("GPU 0 to mlx5_0 is PIX in node.xml and PXB in topo.txt, and 1 more like "
                       "it: taken as in node.xml"));
}

// The matrix says NODE where NCCL says PHB: that is no contradiction, and shown with both words.
TEST(NodeMergeTest, TheMatrixHasTwoWordsForAHostBridge) {
  const NodeDescription nccl = NodeOf("node.xml", {{kHostBridge, kOneBridge}}, 18);
  const NodeDescription smi = NodeOf("topo.txt", {{kHostBridge, kHostBridge}}, 18);
  EXPECT_THAT(Merged(nccl, smi).assumptions,
              ElementsAre(HasSubstr("describe one node"),
                          "GPU 0 to mlx5_1 is PIX in node.xml and PHB or NODE in topo.txt: taken "
                          "as in node.xml"));
}

TEST(NodeMergeTest, NicsGoByNameAndWhatNcclDoesNotSeeIsLeftOut) {
  NodeDescription nccl = NodeOf("node.xml", {{kSystem, kSystem}}, 18);
  nccl.nics[0].name = "mlx5_4";
  nccl.nics[1].name = "mlx5_0";
  NodeDescription smi = NodeOf("topo.txt", {{kBridges, kHostBridge, kOneBridge}}, 18);
  smi.nics[2].name = "mlx5_4";
  const NodeDescription merged = Merged(nccl, smi);
  EXPECT_THAT(merged.nics, ElementsAre(Field(&DescribedNic::name, "mlx5_4"),
                                       Field(&DescribedNic::name, "mlx5_0")));
  EXPECT_THAT(merged.distances, ElementsAre(ElementsAre(kOneBridge, kBridges)));
  EXPECT_THAT(merged.assumptions, Contains(HasSubstr("left out: mlx5_1")));
}

TEST(NodeMergeTest, OtherNamesGoByOrderWhereTheyAreEquallyMany) {
  NodeDescription nccl = NodeOf("node.xml", {{kSystem, kSystem}}, 18);
  nccl.nics[0].name = "0000:41:00.0";
  nccl.nics[1].name = "0000:42:00.0";
  NodeDescription smi = NodeOf("topo.txt", {{kBridges, kOneBridge}}, 18);
  const NodeDescription merged = Merged(nccl, smi);
  EXPECT_THAT(merged.distances, ElementsAre(ElementsAre(kBridges, kOneBridge)));
  EXPECT_THAT(merged.assumptions, Contains(HasSubstr("in the same order")));
  // Of another number nothing is known of which is which.
  smi = NodeOf("topo.txt", {{kBridges, kOneBridge, kBridges}}, 18);
  EXPECT_THAT(Merged(nccl, smi).distances, ElementsAre(ElementsAre(kSystem, kSystem)));
}

TEST(NodeMergeTest, AnXmlWithoutNicsTakesAllOfThem) {
  NodeDescription nccl = NodeOf("node.xml", {{kSystem}}, 18);
  nccl.nics.clear();
  nccl.distances = {{}};
  const NodeDescription smi = NodeOf("topo.txt", {{kBridges, kOneBridge}}, 18);
  const NodeDescription merged = Merged(nccl, smi);
  EXPECT_EQ(merged.nics.size(), 2U);
  EXPECT_EQ(merged.distances, smi.distances);
  EXPECT_THAT(merged.assumptions, Not(Contains(HasSubstr("left out"))));
}

TEST(NodeMergeTest, OtherNumbersOfGpusAreNoOneNode) {
  const Result<NodeDescription> merged = MergeNode(NodeOf("node.xml", {{kSystem}}, 18),
                                                   NodeOf("topo.txt", {{kSystem}, {kSystem}}, 18));
  ASSERT_FALSE(merged);
  EXPECT_EQ(ToString(merged.error()),
            "topo.txt: shows 2 GPUs, and node.xml 1; give files of one node, or of as many nodes "
            "by one tool");
}

}  // namespace
}  // namespace reshard
