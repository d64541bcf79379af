// Files damaged at random: an import succeeds or refuses in one line, and what it makes can be
// built and read back.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "foundation/json_writer.h"
#include "tests/topology/importers/sample_files.h"
#include "tests/topology/read_text.h"
#include "topology/cluster_writer.h"
#include "topology/importers/import.h"

namespace reshard {
namespace {

// Pieces that readers treat specially.
constexpr std::array<std::string_view, 16> kPieces = {"<",
                                                      ">",
                                                      "\"",
                                                      "&lt;",
                                                      "-1",
                                                      "99999999999999999999",
                                                      "[",
                                                      "]",
                                                      "[0-",
                                                      "NV",
                                                      "<pci class=\"0x030200\">",
                                                      "- ",
                                                      ": ",
                                                      "\t",
                                                      "\n",
                                                      "="};

std::string Damaged(std::string_view text, std::mt19937& random) {
  std::string damaged(text);
  const int strokes = 1 + static_cast<int>(random() % 4);
  for (int stroke = 0; stroke < strokes && !damaged.empty(); ++stroke) {
    const std::size_t at = random() % damaged.size();
    const std::size_t length = std::min<std::size_t>(random() % 40, damaged.size() - at);
    switch (random() % 5) {
      case 0:
        damaged[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        damaged.erase(at, length);
        break;
      case 2:
        damaged.insert(at, damaged.substr(random() % damaged.size(), length));
        break;
      case 3:
        damaged.insert(at, kPieces[random() % kPieces.size()]);
        break;
      default:
        damaged.resize(at);
    }
  }
  return damaged;
}

void ExpectSound(const std::vector<TopologyFile>& files, const ImportOptions& options) {
  const Result<ImportedCluster> imported = ImportCluster(files, options);
  if (!imported) {
    EXPECT_TRUE(imported.error().fault == Fault::kInput || imported.error().fault == Fault::kUsage)
        << ToString(imported.error());
    EXPECT_FALSE(imported.error().reason.empty());
    EXPECT_EQ(ToString(imported.error()).find('\n'), std::string::npos);
    return;
  }
  const Result<Cluster> read = ClusterFromText(CanonicalJson(ClusterToJson(imported->description)));
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(*read, imported->cluster);
}

// C25: files that end anywhere.
TEST(ImportDamageTest, EveryCutIsRefusedOrSound) {
  SampleNode sample;
  sample.nvlinks = {18, 9};
  const std::string dump = DumpOf(sample);
  const std::array<std::string_view, 8> whole = {dump,      kCoherentDump, kPciTree,   kSmiMatrix,
                                                 kTreeConf, kBlockConf,    kBlockYaml, kTreeYaml};
  for (std::size_t which = 0; which < whole.size(); ++which) {
    for (std::size_t size = 0; size < whole[which].size(); ++size) {
      SCOPED_TRACE("file " + std::to_string(which) + " of " + std::to_string(size) + " bytes");
      ImportOptions options;
      options.nic_gbps = 48;
      ExpectSound({{"cut", std::string(whole[which].substr(0, size))}}, options);
    }
  }
}

TEST(ImportDamageTest, NeverCrashes) {
  SampleNode sample;
  sample.nvlinks = {18, 18, 12, 0};
  const std::string dump = DumpOf(sample);
  const std::array<std::string_view, 8> nodes_and_lists = {
      dump, kCoherentDump, kPciTree, kSmiMatrix, kTreeConf, kBlockConf, kBlockYaml, kTreeYaml};
  constexpr int kFirstList = 4;
  for (std::uint32_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::size_t which = random() % nodes_and_lists.size();
    std::vector<TopologyFile> files = {{"damaged", Damaged(nodes_and_lists[which], random)}};
    // A whole file of the other sort beside it half of the time.
    if (random() % 2 == 0) {
      files.push_back({"whole", which < kFirstList ? std::string(kBlockConf) : dump});
    }
    ImportOptions options;
    if (random() % 2 == 0) options.nic_gbps = 48;
    if (random() % 4 == 0) options.domain_nodes = 1 + random() % 4;
    if (random() % 4 == 0) options.nic_of = {{0, "0"}};
    ExpectSound(files, options);
  }
}

}  // namespace
}  // namespace reshard
