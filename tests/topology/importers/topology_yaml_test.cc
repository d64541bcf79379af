#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/importers/sample_files.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SlurmTopology Read(std::string_view text) {
  Result<SlurmTopology> slurm = ReadTopologyYaml(text, "topology.yaml");
  EXPECT_TRUE(slurm) << ToString(slurm.error());
  return slurm.value_or(SlurmTopology());
}

std::string Refusal(std::string_view text) {
  const Result<SlurmTopology> slurm = ReadTopologyYaml(text, "topology.yaml");
  return slurm ? "accepted" : ToString(slurm.error());
}

TEST(TopologyYamlTest, TakesTheDefaultTopology) {
  const SlurmTopology slurm = Read(kBlockYaml);
  ASSERT_EQ(slurm.blocks.size(), 2u);
  EXPECT_EQ(slurm.blocks[0].name, "rack1");
  EXPECT_EQ(slurm.nodes.size(), 6u);
  EXPECT_THAT(slurm.assumptions, ElementsAre(HasSubstr("'racks' is the cluster's")));
}

TEST(TopologyYamlTest, ReadsTrees) {
  const SlurmTopology slurm = Read(kTreeYaml);
  ASSERT_EQ(slurm.switches.size(), 3u);
  EXPECT_EQ(slurm.switches[0].name, "spine");
  EXPECT_THAT(slurm.switches[0].nodes, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(slurm.nodes, ElementsAre("n01", "n02", "n03", "n04"));
  EXPECT_TRUE(slurm.assumptions.empty());
}

TEST(TopologyYamlTest, Refusals) {
  EXPECT_THAT(Refusal("topology: a\n"), HasSubstr("topology.yaml: line 1: expected a list"));
  EXPECT_THAT(Refusal("- name: a\n"), HasSubstr("begins with topology: NAME"));
  EXPECT_THAT(Refusal("- topology: a\n  flat: true\n"), HasSubstr("names no nodes"));
  EXPECT_THAT(Refusal("- topology: a\n  block: 3\n"), HasSubstr("topology.yaml"));
  EXPECT_THAT(Refusal("- topology: a\n  block:\n    blocks:\n    - block: b\n"),
              HasSubstr("topology.yaml: line 4: expected block: NAME and nodes: LIST"));
  EXPECT_THAT(Refusal("- topology: a\n  tree: {switches: [{switch: [1]}]}\n"),
              HasSubstr("topology.yaml: line 2"));
  EXPECT_THAT(Refusal("- topology: a\n  cluster_default: perhaps\n"),
              HasSubstr("topology.yaml: line 2"));
  EXPECT_THAT(Refusal("- topology: [a\n"), HasSubstr("is no topology.yaml"));
  EXPECT_THAT(Refusal("- topology: *a\n"), HasSubstr("is no topology.yaml"));
  EXPECT_THAT(Refusal("- topology: " + std::string(100000, '[')), HasSubstr("topology.yaml"));
  EXPECT_THAT(Refusal(std::string((1 << 20) + 1, ' ')), HasSubstr("larger than"));
}

}  // namespace
}  // namespace reshard
