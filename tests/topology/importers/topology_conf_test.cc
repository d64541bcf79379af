#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/importers/sample_files.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SlurmTopology Read(std::string_view text) {
  Result<SlurmTopology> slurm = ReadTopologyConf(text, "topology.conf");
  EXPECT_TRUE(slurm) << ToString(slurm.error());
  return slurm.value_or(SlurmTopology());
}

std::string Refusal(std::string_view text) {
  const Result<SlurmTopology> slurm = ReadTopologyConf(text, "topology.conf");
  return slurm ? "accepted" : ToString(slurm.error());
}

TEST(TopologyConfTest, IsToldByItsFirstLine) {
  EXPECT_TRUE(HoldsTopologyConf(kTreeConf));
  EXPECT_TRUE(HoldsTopologyConf("\n# x\nBLOCKSIZES=4\n"));
  EXPECT_FALSE(HoldsTopologyConf("NodeName=a\n"));
  EXPECT_FALSE(HoldsTopologyConf("SwitchName\n"));
  EXPECT_FALSE(HoldsTopologyConf(""));
}

TEST(TopologyConfTest, ReadsTrees) {
  const SlurmTopology slurm = Read(kTreeConf);
  EXPECT_THAT(slurm.nodes, ElementsAre("n01", "n02", "n03", "n04"));
  ASSERT_EQ(slurm.switches.size(), 3u);
  EXPECT_THAT(slurm.switches[1].nodes, ElementsAre(2, 3));
  EXPECT_THAT(slurm.switches[2].nodes, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(slurm.assumptions, ElementsAre(HasSubstr("LinkSpeed")));
}

TEST(TopologyConfTest, ReadsBlocks) {
  const SlurmTopology slurm = Read(kBlockConf);
  ASSERT_EQ(slurm.blocks.size(), 2u);
  EXPECT_EQ(slurm.blocks[1].name, "rack2");
  EXPECT_THAT(slurm.blocks[1].nodes, ElementsAre(3, 4, 5));
  EXPECT_TRUE(slurm.switches.empty());
}

TEST(TopologyConfTest, LinesContinue) {
  EXPECT_THAT(Read("SwitchName=a \\\n  Nodes=x,\\\ny # c\n").nodes, ElementsAre("x", "y"));
}

TEST(TopologyConfTest, Refusals) {
  EXPECT_THAT(Refusal("SwitchName=a Nodes=x\nSwitchName=b Node=y\n"),
              HasSubstr("topology.conf: line 2: unknown key 'Node'; did you mean 'nodes'?"));
  EXPECT_THAT(Refusal("SwitchName=a Nodes=x nodes=y\n"), HasSubstr("stands twice"));
  EXPECT_THAT(Refusal("SwitchName=a Nodes\n"), HasSubstr("expected KEY=VALUE, got 'Nodes'"));
  EXPECT_THAT(Refusal("SwitchName=a Nodes=\n"), HasSubstr("has no value"));
  EXPECT_THAT(Refusal("SwitchName=a\n"), HasSubstr("neither nodes nor switches"));
  EXPECT_THAT(Refusal("BlockName=a\n"), HasSubstr("has no Nodes"));
  EXPECT_THAT(Refusal("Nodes=x\n"), HasSubstr("names no switch and no block"));
  EXPECT_THAT(Refusal("BlockSizes=4\n"), HasSubstr("names no node"));
  EXPECT_THAT(Refusal("SwitchName=a Switches=b\n"), HasSubstr("there is no switch 'b'"));
  EXPECT_THAT(Refusal("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
              HasSubstr("lies below itself"));
  EXPECT_THAT(Refusal("SwitchName=a Nodes=x\nSwitchName=a Nodes=y\n"),
              HasSubstr("switch 'a' stands twice"));
  EXPECT_THAT(Refusal("BlockName=a Nodes=x\nBlockName=b Nodes=w,x\n"),
              HasSubstr("'x' is in another block too"));
  EXPECT_THAT(Refusal("BlockName=a Nodes=x\nSwitchName=b Nodes=x\n"),
              HasSubstr("both blocks and switches"));
  EXPECT_THAT(Refusal("SwitchName=a Nodes=x,x\n"), HasSubstr("stands twice"));
}

}  // namespace
}  // namespace reshard
