#include "topology/importers/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "foundation/json_writer.h"
#include "tests/topology/importers/sample_files.h"
#include "tests/topology/read_text.h"
#include "topology/builtin_types.h"
#include "topology/cluster_writer.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ImportedCluster Imported(const std::vector<TopologyFile>& files, const ImportOptions& options) {
  Result<ImportedCluster> imported = ImportCluster(files, options);
  EXPECT_TRUE(imported) << ToString(imported.error());
  return imported ? *std::move(imported) : ImportedCluster();
}

std::string ImportRefusal(const std::vector<TopologyFile>& files,
                          const ImportOptions& options = {}) {
  const Result<ImportedCluster> imported = ImportCluster(files, options);
  return imported ? "accepted" : ToString(imported.error());
}

TopologyFile File(std::string name, std::string_view text) {
  return {std::move(name), std::string(text)};
}

// What is written reads back as the cluster that was imported.
void ExpectRoundTrip(const ImportedCluster& imported) {
  const Result<Cluster> read = ClusterFromText(CanonicalJson(ClusterToJson(imported.description)));
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(*read, imported.cluster);
}

TEST(ImportTest, ADumpRepeatedOverTheNodesOfATree) {
  SampleNode sample;
  sample.nvlinks.assign(8, 18);
  sample.nic_of = {7, 6, 5, 4, 3, 2, 1, 0};
  const ImportedCluster imported =
      Imported({File("node.xml", DumpOf(sample)), File("topology.conf", kTreeConf)}, {});
  ExpectRoundTrip(imported);
  EXPECT_EQ(imported.cluster.domains.size(), 4u);
  EXPECT_EQ(imported.cluster.fabric.switches.size(), 2u);
  // NIC k stands on rail k and serves GPU 7 - k.
  const Nic& nic = imported.cluster.nics[8 + 2];
  EXPECT_EQ(nic.rail, 2);
  EXPECT_THAT(nic.gpus, ElementsAre(8 + 5));
  EXPECT_EQ(nic.gbps, 48);
}

// An XML without NVLinks and distances, a matrix without rates and kinds.
TEST(ImportTest, XmlAndMatrixOfOneNodeAreOneNode) {
  const std::string xml = R"(<system version="1">
<pci busid="g0" class="0x030200" vendor="0x10de" device="0x2330"><gpu dev="0" sm="90"/></pci>
<pci busid="g1" class="0x030200" vendor="0x10de" device="0x2330"><gpu dev="1" sm="90"/></pci>
<nic><net name="mlx5_0" dev="0" speed="200000"/><net name="mlx5_1" dev="1" speed="200000"/></nic>
</system>)";
  const std::string matrix =
      "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\n"
      "GPU0\t X \tNV18\tSYS\tPIX\t0-9\nGPU1\tNV18\t X \tPIX\tSYS\t0-9\n"
      "NIC0\tSYS\tPIX\t X \tSYS\nNIC1\tPIX\tSYS\tSYS\t X \n\nNIC Legend:\n\n"
      "  NIC0: mlx5_0\n  NIC1: mlx5_1\n";
  for (const bool xml_first : {true, false}) {
    std::vector<TopologyFile> files = {File("node.xml", xml), File("topo.txt", matrix)};
    if (!xml_first) std::swap(files[0], files[1]);
    ImportOptions options;
    options.nodes = 3;
    const ImportedCluster imported = Imported(files, options);
    ExpectRoundTrip(imported);
    ASSERT_EQ(imported.nodes.size(), 1u);
    ASSERT_EQ(imported.cluster.domains.size(), 3u);
    EXPECT_EQ(imported.cluster.domains[0].gpu_count, 2);
    EXPECT_EQ(imported.cluster.gpus[0].nvlink_gbps, 370);
    EXPECT_EQ(imported.cluster.nics[0].gbps, 24);
    EXPECT_THAT(imported.cluster.nics[0].gpus, ElementsAre(1));
    EXPECT_THAT(imported.assumptions,
                Contains(HasSubstr("node.xml and topo.txt describe one node")));
  }
}

TEST(ImportTest, BlocksJoinCoherentNodesToDomains) {
  const ImportedCluster imported =
      Imported({File("topology.yaml", kBlockYaml), File("node.xml", kCoherentDump)}, {});
  ExpectRoundTrip(imported);
  ASSERT_EQ(imported.cluster.domains.size(), 2u);
  EXPECT_EQ(imported.cluster.domains[1].gpu_count, 6);
  EXPECT_EQ(imported.cluster.node_count, 6);
  EXPECT_THAT(imported.assumptions, Contains(HasSubstr("does not tell which NIC")));
}

TEST(ImportTest, AMatrixAsPasted) {
  ImportOptions options;
  options.nic_gbps = 40;
  options.nodes = 2;
  const ImportedCluster imported = Imported({File("topo.txt", kSmiMatrix)}, options);
  ExpectRoundTrip(imported);
  ASSERT_EQ(imported.cluster.nics.size(), 4u);
  EXPECT_EQ(imported.cluster.nics[3].gbps, 40);
  EXPECT_THAT(imported.cluster.nics[3].gpus, ElementsAre(3));
  EXPECT_THAT(imported.assumptions, Contains(HasSubstr("left out: mlx5_bond")));
}

TEST(ImportTest, TheInputFormAsksForTheRateOfSharedNics) {
  EXPECT_THAT(ImportRefusal({File("tree.xml", kPciTree)}), HasSubstr("--nic-GBps"));
  ImportOptions options;
  options.nic_gbps = 12;
  const ImportedCluster imported = Imported({File("tree.xml", kPciTree)}, options);
  ExpectRoundTrip(imported);
  EXPECT_EQ(imported.cluster.domains[0].type, "a100-4gpu-2nic");
  EXPECT_THAT(imported.cluster.nics[1].gpus, ElementsAre(2, 3));
}

// C18 from the file to the cluster.
TEST(ImportTest, ADegradedGpuInEveryNode) {
  SampleNode sample;
  sample.nvlinks = {18, 9, 0};
  ImportOptions options;
  options.nodes = 2;
  const ImportedCluster imported = Imported({File("node.xml", DumpOf(sample))}, options);
  ExpectRoundTrip(imported);
  std::vector<double> rates;
  for (const Gpu& gpu : imported.cluster.gpus) rates.push_back(gpu.nvlink_gbps);
  EXPECT_THAT(rates, ElementsAre(370, 185, 0, 370, 185, 0));
}

TEST(ImportTest, NodesOfSevenAndEightGpusShareRailsByName) {
  SampleNode eight;
  eight.nvlinks.assign(8, 18);
  SampleNode seven;
  seven.nvlinks.assign(7, 18);
  seven.nic_of = {0, 1, 2, 4, 5, 6, 7};
  const ImportedCluster imported =
      Imported({File("a.xml", DumpOf(eight)), File("b.xml", DumpOf(seven))}, {});
  ExpectRoundTrip(imported);
  ASSERT_EQ(imported.cluster.nics.size(), 15u);
  EXPECT_EQ(imported.cluster.nics[8 + 3].rail, 4);
  EXPECT_EQ(imported.cluster.domains[0].type, "dgx-h100");
}

TEST(ImportTest, HostsOfOneDumpAreOneDomain) {
  SampleNode node;
  node.nvlinks = {18, 18};
  std::string text = "<system>";
  for (const char* host : {"0xa", "0xb", "0xc"}) {
    node.host = host;
    text += CpusOf(node);
  }
  ImportOptions options;
  options.nodes = 6;
  const ImportedCluster imported = Imported({File("dump.xml", text + "</system>")}, options);
  ExpectRoundTrip(imported);
  ASSERT_EQ(imported.cluster.domains.size(), 2u);
  EXPECT_EQ(imported.cluster.domains[0].gpu_count, 6);
}

TEST(ImportTest, ABuiltInTypeStandsForANodeThatNoFileDescribes) {
  EXPECT_THAT(ImportRefusal({File("topology.conf", kBlockConf)}), HasSubstr("--type gb200-nvl72"));
  for (const std::string_view name : BuiltinTypeNames()) {
    ImportOptions options;
    options.type = name;
    const ImportedCluster imported = Imported({File("topology.conf", kBlockConf)}, options);
    ExpectRoundTrip(imported);
    EXPECT_THAT(imported.description.types, ElementsAre(*BuiltinType(name)));
  }
}

TEST(ImportTest, FilesAreToldByContentAndOthersRefusedInOneLine) {
  EXPECT_THAT(ImportRefusal({File("a", "  \n")}), HasSubstr("a: is empty"));
  EXPECT_THAT(ImportRefusal({File("a", "{\"domains\": []}")}), HasSubstr("a: is JSON"));
  EXPECT_THAT(ImportRefusal({File("a", "hello")}), HasSubstr("a: is neither"));
  EXPECT_THAT(ImportRefusal({File("a", std::string_view("<sys\0tem/>", 10))}),
              HasSubstr("a: is neither"));
  EXPECT_THAT(ImportRefusal({File("a", "<html></html>")}),
              HasSubstr("expected the element system"));
  EXPECT_THAT(ImportRefusal({File("a", kTreeConf), File("b", kTreeYaml)}),
              HasSubstr("b: is a second file of SLURM, after a"));
}

TEST(ImportTest, WhatOptionsCannotMeanIsWrongUsage) {
  ImportOptions options;
  options.type = "dgx-x100";
  const Result<ImportedCluster> refused =
      ImportCluster({File("topology.conf", kBlockConf)}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kUsage);
}

}  // namespace
}  // namespace reshard
