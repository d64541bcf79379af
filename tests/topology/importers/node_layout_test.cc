#include "topology/importers/node_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/importers/sample_files.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LayoutSources OneRackNode() {
  LayoutSources sources;
  sources.description_count = 1;
  sources.nodes_per_domain = 18;
  sources.type_name = "gb200-nvl72";
  return sources;
}

LayoutSources OneBox() {
  LayoutSources sources;
  sources.description_count = 1;
  sources.type_name = "dgx-h100";
  return sources;
}

NodeLayout LaidOut(const LayoutSources& sources) {
  Result<NodeLayout> layout = LayOutNodes(sources);
  EXPECT_TRUE(layout) << ToString(layout.error());
  return layout.value_or(NodeLayout());
}

std::string Refusal(const LayoutSources& sources) {
  const Result<NodeLayout> layout = LayOutNodes(sources);
  return layout ? "accepted" : ToString(layout.error());
}

TEST(NodeLayoutTest, BoxesAreDomainsOfTheirOwn) {
  LayoutSources sources = OneBox();
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(1));
  EXPECT_THAT(LaidOut(sources).assumptions, ElementsAre(HasSubstr("one node, as nothing says")));
  sources.nodes = 3;
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(1, 1, 1));
  EXPECT_THAT(LaidOut(sources).descriptions, ElementsAre(0, 0, 0));
}

TEST(NodeLayoutTest, RacksAreJoinedWhereTheNumbersFit) {
  LayoutSources sources = OneRackNode();
  sources.nodes = 16;
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(16));
  sources.nodes = 36;
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(18, 18));
  sources.nodes = 32;
  EXPECT_THAT(Refusal(sources), HasSubstr("with --domain-nodes"));
  sources.domain_nodes = 16;
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(16, 16));
  sources.nodes = 35;
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(16, 16, 3));
  EXPECT_THAT(LaidOut(sources).assumptions,
              ::testing::Contains("the last NVLink domain has 3 nodes of 16"));
}

TEST(NodeLayoutTest, BlocksAreDomainsOfRacksOnly) {
  const Result<SlurmTopology> slurm = ReadTopologyConf(kBlockConf, "topology.conf");
  ASSERT_TRUE(slurm);
  LayoutSources sources = OneRackNode();
  sources.slurm = &*slurm;
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(3, 3));
  sources.domain_nodes = 2;
  EXPECT_THAT(Refusal(sources), HasSubstr("does not divide the 3 nodes of block 'rack1'"));
  EXPECT_EQ(LayOutNodes(sources).error().fault, Fault::kUsage);
  LayoutSources boxes = OneBox();
  boxes.slurm = &*slurm;
  EXPECT_THAT(LaidOut(boxes).domain_nodes, SizeIs(6));
  EXPECT_THAT(LaidOut(boxes).assumptions,
              ::testing::Contains(HasSubstr("SLURM's blocks do not count")));
}

TEST(NodeLayoutTest, DescriptionsFitNodes) {
  LayoutSources sources = OneBox();
  sources.description_count = 2;
  EXPECT_THAT(LaidOut(sources).descriptions, ElementsAre(0, 1));
  sources.nodes = 4;
  EXPECT_THAT(Refusal(sources), HasSubstr("2 nodes are described, but there are 4 nodes"));
  sources.same_domain = true;
  EXPECT_THAT(LaidOut(sources).descriptions, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(LaidOut(sources).domain_nodes, ElementsAre(2, 2));
}

TEST(NodeLayoutTest, RefusesContradictionsAndTooMany) {
  const Result<SlurmTopology> slurm = ReadTopologyConf(kTreeConf, "topology.conf");
  ASSERT_TRUE(slurm);
  LayoutSources sources = OneBox();
  sources.slurm = &*slurm;
  sources.nodes = 5;
  EXPECT_THAT(Refusal(sources), HasSubstr("--nodes 5: topology.conf names 4 nodes"));
  EXPECT_EQ(LayOutNodes(sources).error().fault, Fault::kUsage);
  sources.slurm = nullptr;
  sources.nodes = std::int64_t{1} << 60;
  EXPECT_THAT(Refusal(sources), HasSubstr("more than"));
}

}  // namespace
}  // namespace reshard
