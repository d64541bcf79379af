#include "topology/importers/nccl_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/importers/sample_files.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using enum NicDistance;

std::vector<NodeDescription> Read(std::string_view text) {
  Result<std::vector<NodeDescription>> nodes = ReadNcclTopology(text, "topo.xml");
  EXPECT_TRUE(nodes) << ToString(nodes.error());
  return nodes ? *std::move(nodes) : std::vector<NodeDescription>(1);
}

std::string Refusal(std::string_view text) {
  const Result<std::vector<NodeDescription>> nodes = ReadNcclTopology(text, "topo.xml");
  return nodes ? "accepted" : ToString(nodes.error());
}

TEST(NcclTopologyTest, ADumpTellsGpusNicsLinksAndDistances) {
  SampleNode sample;
  sample.nvlinks = {18, 18, 12};
  sample.nic_of = {2, 1, 0};
  const std::vector<NodeDescription> nodes = Read(DumpOf(sample));
  ASSERT_EQ(nodes.size(), 1u);
  const NodeDescription& node = nodes.front();
  ASSERT_EQ(node.gpus.size(), 3u);
  EXPECT_EQ(node.gpus[0].nvlinks, 18);
  EXPECT_EQ(node.gpus[2].nvlinks, 12);
  EXPECT_EQ(node.gpus[2].nvlink_island, 0);
  EXPECT_EQ(node.gpus[0].device, "0x2330");
  EXPECT_EQ(node.gpus[0].sm, 90);
  ASSERT_EQ(node.nics.size(), 3u);
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_EQ(node.nics[0].line_gbps, 50);
  // GPUs 0 and 1 are on NUMA node 0, GPU 2 with mlx5_0 on the other.
  EXPECT_THAT(node.distances[0], ElementsAre(kSystem, kHostBridge, kOneBridge));
  EXPECT_THAT(node.distances[2], ElementsAre(kOneBridge, kSystem, kSystem));
  EXPECT_TRUE(node.assumptions.empty());
}

TEST(NcclTopologyTest, SeveralBridgesAreFarther) {
  const NodeDescription node = Read(R"(<system><cpu numaid="0">
    <pci busid="a" class="0x060400">
      <pci busid="b" class="0x060400"><pci busid="g" class="0x030200"><gpu dev="0"/></pci></pci>
      <pci busid="n" class="0x020000"><nic><net name="x"/></nic></pci>
    </pci></cpu></system>)")
                                   .front();
  EXPECT_THAT(node.distances[0], ElementsAre(kBridges));
}

// C25
TEST(NcclTopologyTest, NicsOutsideTheTreeAreFarFromAll) {
  // numaid="-1", nets without pci: NCCL writes both for virtual and plugin devices.
  EXPECT_THAT(Read(kCoherentDump).front().distances[0], ElementsAre(kSystem, kSystem));
  EXPECT_TRUE(Read(kCoherentDump).front().coherent);
  const NodeDescription node = Read(R"(<system>
    <cpu numaid="0"><pci busid="g" class="0x030200"><gpu dev="0"/></pci><nic><net/></nic></cpu>
    <nic><net name="b"/></nic></system>)")
                                   .front();
  EXPECT_THAT(node.distances[0], ElementsAre(kHostBridge, kSystem));
  EXPECT_EQ(node.nics[0].name, "NIC0");
  EXPECT_FALSE(node.nics[0].line_gbps);
}

TEST(NcclTopologyTest, AnUntoldNumaNodeTellsNoDistance) {
  const NodeDescription node = Read(R"(<system><cpu numaid="-1">
    <pci busid="g" class="0x030200"><gpu dev="0"/></pci><nic><net name="a"/></nic>
    </cpu></system>)")
                                   .front();
  EXPECT_THAT(node.distances[0], ElementsAre(kSystem));
}

TEST(NcclTopologyTest, TheInputFormTellsDevicesByClass) {
  const NodeDescription node = Read(kPciTree).front();
  ASSERT_EQ(node.gpus.size(), 4u);
  EXPECT_FALSE(node.gpus[0].nvlinks);
  EXPECT_EQ(node.gpus[0].pcie_gts, 16);
  ASSERT_EQ(node.nics.size(), 2u);
  EXPECT_EQ(node.nics[1].name, "0000:20:1b.0");
  EXPECT_THAT(node.distances[1], ElementsAre(kOneBridge, kHostBridge));
  EXPECT_THAT(node.assumptions, ElementsAre(HasSubstr("in the order of the file")));
}

// C25
TEST(NcclTopologyTest, MoreThan256ElementsAreRead) {
  SampleNode sample;
  sample.nvlinks.assign(120, 18);  // over 900 elements
  const NodeDescription node = Read(DumpOf(sample)).front();
  EXPECT_EQ(node.gpus.size(), 120u);
  EXPECT_EQ(node.nics.size(), 120u);
}

TEST(NcclTopologyTest, HostsOfOneDumpAreNodesOfTheirOwn) {
  SampleNode first;
  first.nvlinks = {18, 18};
  first.host = "0xa";
  SampleNode second = first;
  second.host = "0xb";
  const std::vector<NodeDescription> nodes =
      Read("<system>" + CpusOf(first) + CpusOf(second) + "</system>");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].gpus.size(), 2u);
  EXPECT_EQ(nodes[1].nics.size(), 2u);
  EXPECT_EQ(nodes[1].source, "topo.xml: host '0xb'");
}

TEST(NcclTopologyTest, DirectLinksJoinGpus) {
  const NodeDescription node = Read(R"(<system><cpu numaid="0">
    <pci busid="g0" class="0x030200"><gpu dev="0"><nvlink target="g1" count="4"/></gpu></pci>
    <pci busid="g1" class="0x030200"><gpu dev="1"><nvlink target="g0" count="4"/></gpu></pci>
    <pci busid="g2" class="0x030200"><gpu dev="2"/></pci>
    </cpu></system>)")
                                   .front();
  EXPECT_EQ(node.gpus[1].nvlink_island, 0);
  EXPECT_EQ(node.gpus[2].nvlink_island, 1);
  EXPECT_EQ(node.gpus[2].nvlinks, 0);
}

// C25: missing fields and numbers out of range.
TEST(NcclTopologyTest, RefusalsNameLineAndElement) {
  EXPECT_THAT(Refusal("<graphs/>"), HasSubstr("topo.xml: line 1: graphs: expected the element"));
  EXPECT_THAT(Refusal("<system/>"), HasSubstr("has no GPU"));
  EXPECT_THAT(Refusal("<system><cpu numaid=\"0\"><nic><net/></nic></cpu></system>"),
              HasSubstr("has no GPU"));
  EXPECT_THAT(Refusal("<system>\n<cpu numaid=\"x\"/></system>"),
              HasSubstr("topo.xml: line 2: cpu: numaid: expected an integer"));
  EXPECT_THAT(Refusal("<system><cpu><pci busid=\"a\"/></cpu></system>"),
              HasSubstr("pci: has no class"));
  EXPECT_THAT(Refusal("<system><cpu><pci class=\"0x03\"><gpu><nvlink/></gpu></pci></cpu></system>"),
              HasSubstr("nvlink: has no count"));
  EXPECT_THAT(
      Refusal("<system><cpu><pci class=\"0x03\"><gpu><nvlink count=\"-4\"/></gpu></pci></cpu>"
              "</system>"),
      HasSubstr("count: expected an integer from 0"));
  EXPECT_THAT(Refusal("<system><nic><net speed=\"99999999999\"/></nic></system>"),
              HasSubstr("speed: expected an integer"));
}

TEST(NcclTopologyTest, RefusesDepth) {
  std::string deep = "<system><cpu>";
  for (int i = 0; i < 100000; ++i) deep += "<pci class=\"0x060400\">";
  for (int i = 0; i < 100000; ++i) deep += "</pci>";
  EXPECT_THAT(Refusal(deep + "</cpu></system>"), HasSubstr("deeper than 64"));
}

}  // namespace
}  // namespace reshard
