#include "topology/importers/smi_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/importers/sample_files.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using enum NicDistance;

NodeDescription Read(std::string_view text) {
  Result<NodeDescription> node = ReadSmiMatrix(text, "topo.txt");
  EXPECT_TRUE(node) << ToString(node.error());
  return node ? *std::move(node) : NodeDescription();
}

std::string Refusal(std::string_view text) {
  const Result<NodeDescription> node = ReadSmiMatrix(text, "topo.txt");
  return node ? "accepted" : ToString(node.error());
}

std::string Replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string changed(text);
  const std::size_t at = changed.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return changed.replace(at, what.size(), with);
}

void ExpectTheSample(const NodeDescription& node) {
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[1].nvlinks, 18);
  EXPECT_EQ(node.gpus[1].nvlink_island, 0);
  EXPECT_FALSE(node.coherent);
  ASSERT_EQ(node.nics.size(), 3u);
  EXPECT_EQ(node.nics[1].name, "mlx5_bond");
  EXPECT_EQ(node.nics[2].number, "2");
  EXPECT_THAT(node.distances[0], ElementsAre(kOneBridge, kSystem, kSystem));
  EXPECT_THAT(node.distances[1], ElementsAre(kSystem, kSystem, kBridges));
}

TEST(SmiMatrixTest, ReadsTheMatrix) {
  EXPECT_TRUE(HoldsSmiMatrix(kSmiMatrix));
  ExpectTheSample(Read(kSmiMatrix));
}

TEST(SmiMatrixTest, ReadsWhatPeoplePaste) {
  std::string blanks(kSmiMatrix);
  std::replace(blanks.begin(), blanks.end(), '\t', ' ');
  ExpectTheSample(Read(blanks));
  // The header is underlined; a copy may have lost the escape character.
  ExpectTheSample(Read(Replaced(kSmiMatrix, "\tGPU0\t", "\t\x1b[4mGPU0\x1b[0m\t")));
  ExpectTheSample(Read(Replaced(kSmiMatrix, "\tGPU0\t", "\t[4mGPU0[0m\t")));
  ExpectTheSample(
      Read("user@host:~$ nvidia-smi topo -m\n" + std::string(kSmiMatrix) + "\n$ exit\n"));
  ExpectTheSample(Read(Replaced(kSmiMatrix, "\tSYS\tSYS\t0-55", "\tSYS\n\tSYS\t0-55")));
  ExpectTheSample(Read(Replaced(kSmiMatrix, "\tNIC2\tCPU", "\n\tNIC2\tCPU")));
  std::string windows;
  for (const char character : kSmiMatrix) {
    if (character == '\n') windows += '\r';
    windows += character;
  }
  ExpectTheSample(Read(windows));
}

TEST(SmiMatrixTest, OlderDriversNameNicsInTheHeader) {
  const NodeDescription node = Read(
      "GPU0 GPU1 mlx5_0 CPU Affinity\nGPU0 X PHB NODE 0-3\nGPU1 PHB X SOC 4-7\nmlx5_0 NODE SOC "
      "X\n");
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_EQ(node.distances[0][0], kHostBridge);
  EXPECT_EQ(node.distances[1][0], kSystem);
  EXPECT_EQ(node.gpus[0].nvlinks, 0);
  EXPECT_EQ(node.gpus[1].nvlink_island, 1);
}

TEST(SmiMatrixTest, ANumaNodeOfTheGpusOwnMeansCoherence) {
  EXPECT_TRUE(Read("GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID\n"
                   "GPU0 X NV18 0-71 0,3-9 2\nGPU1 NV18 X 72-143 1,19-25 10\n")
                  .coherent);
}

TEST(SmiMatrixTest, DirectLinksAddUpAndSwitchedOnesDoNot) {
  // Four A100 joined directly: 3 x 4 links. Eight on switches show all 12 for every peer.
  const NodeDescription direct = Read(
      "GPU0 GPU1 GPU2 GPU3 CPU\nGPU0 X NV4 NV4 NV4\nGPU1 NV4 X NV4 NV4\n"
      "GPU2 NV4 NV4 X NV4\nGPU3 NV4 NV4 NV4 X\n");
  EXPECT_EQ(direct.gpus[3].nvlinks, 12);
  const NodeDescription switched =
      Read("GPU0 GPU1 GPU2 CPU\nGPU0 X NV12 NV12\nGPU1 NV12 X NV12\nGPU2 NV12 NV12 X\n");
  EXPECT_EQ(switched.gpus[0].nvlinks, 12);
}

TEST(SmiMatrixTest, RefusesIncompleteAndContradictoryMatrices) {
  EXPECT_THAT(Refusal("no matrix"), HasSubstr("topo.txt: holds no matrix"));
  EXPECT_THAT(Refusal(Replaced(kSmiMatrix, "NIC2\tSYS\tPXB", "NICX\tSYS\tPXB")),
              HasSubstr("the row of 'NIC2' is missing"));
  EXPECT_THAT(Refusal(kSmiMatrix.substr(0, kSmiMatrix.find("\tSYS\tPXB\t56"))),
              HasSubstr("topo.txt: line 3: the row of 'GPU1' has 3 cells for 5 columns"));
  EXPECT_THAT(Refusal(Replaced(kSmiMatrix, "X \tNV18\tPIX", "X \tNV18\tPXB")),
              HasSubstr("GPU0 to NIC0 is PXB, but PIX back"));
  EXPECT_THAT(Refusal(Replaced(kSmiMatrix, " X \tNV18", "SYS\tNV18")),
              HasSubstr("no X in its own column"));
  EXPECT_THAT(Refusal(Replaced(kSmiMatrix, "PIX", "P?X")), HasSubstr("then 'P?X'"));
  EXPECT_THAT(Refusal("GPU0 GPU1 GPU1 CPU\n"), HasSubstr("'GPU1' stands twice"));
}

}  // namespace
}  // namespace reshard
