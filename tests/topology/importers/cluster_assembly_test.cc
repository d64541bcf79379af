#include "topology/importers/cluster_assembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/importers/sample_files.h"
#include "topology/builtin_types.h"
#include "topology/cluster_builder.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A node of `gpus` GPUs of dgx-h100, each with a NIC on its rail.
NodeShape Shape(std::int32_t gpus) {
  NodeShape shape;
  IslandShape& island = shape.islands.emplace_back();
  island.type = *BuiltinType("dgx-h100");
  island.type.name.clear();
  island.type.gpu_count = island.type.gpus_per_node = gpus;
  island.type.nics.resize(gpus);
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu) island.gpus.push_back(gpu);
  shape.gpu_nvlink_gbps.assign(gpus, island.type.nvlink_gbps);
  return shape;
}

Result<AssembledCluster> Assembled(const std::vector<NodeShape>& shapes, const NodeLayout& layout,
                                   const SlurmTopology* slurm = nullptr) {
  const std::vector<std::string> kinds(shapes.size(), "dgx-h100");
  return AssembleCluster(shapes, kinds, layout, slurm);
}

TEST(ClusterAssemblyTest, RecognisesBuiltInTypes) {
  const Result<AssembledCluster> cluster = Assembled({Shape(8)}, {{0, 0}, {1, 1}, {}});
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  EXPECT_THAT(cluster->description.types, ElementsAre(*BuiltinType("dgx-h100")));
  EXPECT_THAT(cluster->description.overrides, IsEmpty());
}

// 18 nodes of four GPUs are the built-in type, 36 are no more of it, whichever comes first.
TEST(ClusterAssemblyTest, NothingLargerBearsABuiltInTypesName) {
  NodeShape node;
  IslandShape& island = node.islands.emplace_back();
  island.type = *BuiltinType("gb200-nvl72");
  island.type.name.clear();
  island.type.gpu_count = 4;
  for (std::int32_t gpu = 0; gpu < 4; ++gpu) island.gpus.push_back(gpu);
  node.gpu_nvlink_gbps.assign(4, island.type.nvlink_gbps);
  for (const std::vector<std::int64_t>& blocks : {std::vector<std::int64_t>{18, 36}, {36, 18}}) {
    const Result<AssembledCluster> assembled =
        AssembleCluster(std::vector{node}, std::vector<std::string>{"gb200-nvl72"},
                        {std::vector<std::int32_t>(54, 0), blocks, {}}, nullptr);
    ASSERT_TRUE(assembled) << ToString(assembled.error());
    const Result<Cluster> cluster = BuildCluster(assembled->description);
    ASSERT_TRUE(cluster) << ToString(cluster.error());
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(cluster->domains[d].gpu_count, 4 * blocks[d]);
      EXPECT_TRUE(blocks[d] == 18 || cluster->domains[d].type != "gb200-nvl72");
    }
  }
}

// C18: nodes of 7 and of 8 GPUs, a GPU with half its links.
TEST(ClusterAssemblyTest, UnequalNodesAndDegradedLinks) {
  std::vector<NodeShape> shapes = {Shape(7), Shape(8)};
  shapes[1].gpu_nvlink_gbps[3] = 185;
  const Result<AssembledCluster> assembled = Assembled(shapes, {{0, 1, 0}, {1, 1, 1}, {}});
  ASSERT_TRUE(assembled);
  const Result<Cluster> cluster = BuildCluster(assembled->description);
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  ASSERT_EQ(cluster->gpus.size(), 22u);
  for (std::size_t gpu = 0; gpu < 22; ++gpu) {
    EXPECT_EQ(cluster->gpus[gpu].nvlink_gbps, gpu == 7 + 3 ? 185 : 370) << gpu;
  }
  EXPECT_EQ(cluster->domains[0].type, "h100-7gpu-7nic");
  EXPECT_EQ(cluster->domains[1].type, "dgx-h100");
}

// C18: a GPU without any link stays where it is, at rate 0; a node of one GPU has no NVLink.
TEST(ClusterAssemblyTest, MissingLinksAndDomainsOfOneGpu) {
  std::vector<NodeShape> shapes = {Shape(4), Shape(1)};
  shapes[0].gpu_nvlink_gbps[2] = 0;
  const Result<AssembledCluster> assembled = Assembled(shapes, {{0, 1}, {1, 1}, {}});
  ASSERT_TRUE(assembled);
  const Result<Cluster> cluster = BuildCluster(assembled->description);
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  EXPECT_EQ(cluster->gpus[2].nvlink_gbps, 0);
  EXPECT_EQ(cluster->gpus[3].nvlink_gbps, 370);
  EXPECT_EQ(cluster->gpus[4].nvlink_gbps, 0);
  EXPECT_EQ(cluster->domains[1].gpu_count, 1);
}

TEST(ClusterAssemblyTest, JoinedNodesKeepTheirOwnRates) {
  std::vector<NodeShape> shapes = {Shape(2), Shape(2)};
  shapes[1].gpu_nvlink_gbps = {370, 100};
  shapes[1].islands[0].type.nics[1].gbps = 24;
  const Result<AssembledCluster> assembled = Assembled(shapes, {{0, 0, 0, 1}, {2, 2}, {}});
  ASSERT_TRUE(assembled) << ToString(assembled.error());
  const Result<Cluster> cluster = BuildCluster(assembled->description);
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  ASSERT_EQ(cluster->domains.size(), 2u);
  EXPECT_EQ(cluster->domains[1].gpu_count, 4);
  EXPECT_EQ(cluster->node_count, 4);
  EXPECT_EQ(cluster->gpus[7].nvlink_gbps, 100);
  EXPECT_EQ(cluster->nics[7].gbps, 24);
  EXPECT_EQ(assembled->description.overrides.size(), 2u);
}

TEST(ClusterAssemblyTest, JoinedNodesOfOneGpuHaveNvlink) {
  NodeShape shape = Shape(1);
  shape.islands[0].type.nvlink_gbps = 0;
  const Result<AssembledCluster> assembled = Assembled({shape}, {{0, 0, 0}, {3}, {}});
  ASSERT_TRUE(assembled);
  EXPECT_EQ(BuildCluster(assembled->description)->gpus[2].nvlink_gbps, 370);
}

TEST(ClusterAssemblyTest, TheLastNodeOfADomainMayBeSmaller) {
  EXPECT_TRUE(Assembled({Shape(4), Shape(3)}, {{0, 0, 1}, {3}, {}}));
  const Result<AssembledCluster> refused = Assembled({Shape(4), Shape(3)}, {{0, 1, 0}, {3}, {}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(ToString(refused.error()), HasSubstr("node 1: differs in more than rates"));
}

TEST(ClusterAssemblyTest, SwitchesOfWholeDomainsCount) {
  const Result<SlurmTopology> slurm = ReadTopologyConf(kTreeConf, "topology.conf");
  ASSERT_TRUE(slurm);
  const NodeLayout boxes{{0, 0, 0, 0}, {1, 1, 1, 1}, {}};
  const Result<AssembledCluster> cluster = Assembled({Shape(8)}, boxes, &*slurm);
  ASSERT_TRUE(cluster);
  EXPECT_THAT(cluster->description.fabric.switches,
              ElementsAre(Switch{{0, 1}, 1.0}, Switch{{2, 3}, 1.0}));
  const NodeLayout parted{{0, 0, 0, 0}, {1, 3}, {}};
  const Result<AssembledCluster> cut = Assembled({Shape(8)}, parted, &*slurm);
  ASSERT_TRUE(cut);
  EXPECT_THAT(cut->description.fabric.switches, IsEmpty());
  EXPECT_THAT(cut->assumptions, ElementsAre(HasSubstr("switch 'leaf0' parts an NVLink domain"),
                                            HasSubstr("switch 'leaf1'")));
}

TEST(ClusterAssemblyTest, EqualNamesOfUnequalTypesAreNumbered) {
  std::vector<NodeShape> shapes = {Shape(3), Shape(3)};
  shapes[1].islands[0].type.nics[0].gbps = 12;
  const Result<AssembledCluster> cluster = Assembled(shapes, {{1, 0}, {1, 1}, {}});
  ASSERT_TRUE(cluster);
  ASSERT_EQ(cluster->description.types.size(), 2u);
  EXPECT_EQ(cluster->description.types[0].name, "h100-3gpu-3nic");
  EXPECT_EQ(cluster->description.types[1].name, "h100-3gpu-3nic-2");
  EXPECT_EQ(cluster->description.entries[0].type, 0);
}

}  // namespace
}  // namespace reshard
