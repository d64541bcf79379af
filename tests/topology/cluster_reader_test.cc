#include "topology/cluster_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/topology/read_text.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

// The example of the format's description.
constexpr std::string_view kExample = R"({
  "types": { "my-rack": { "gpus": 72, "gpusPerNode": 4, "nvlinkGBps": 720, "hbmGBps": 6500,
                          "nics": [ {"gpus": [0], "GBps": 48, "rail": 0},
                                    {"gpus": [1, 2], "GBps": 48, "rail": 1} ],
                          "nvlinkLatencyUs": 3.5, "networkLatencyUs": 15 } },
  "domains": [ { "type": "gb200-nvl72", "gpus": 64, "count": 4 }, { "type": "my-rack", "count": 1 } ],
  "fabric":  { "railCrossing": "FULL", "spineOversubscription": 1.0,
               "switches": [ { "domains": [1, 0], "oversubscription": 2.0 } ] },
  "overrides": [ { "gpu": 17, "nicGBps": 0 }, { "nic": 40, "GBps": 24 },
                 { "domain": 2, "nvlinkGBps": 300 }, { "gpu": 9, "nvlinkGBps": 185 },
                 { "gpu": 10, "dead": true } ] })";

TEST(ReadClusterTest, ReadsTheExampleOfTheFormat) {
  const Result<Cluster> cluster = ClusterFromText(kExample);
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  EXPECT_EQ(cluster->domains.size(), 5u);
  EXPECT_EQ(cluster->gpus.size(), 4u * 64 + 72);
  EXPECT_EQ(cluster->nics.size(), 4u * 64 + 18 * 2);
  EXPECT_EQ(cluster->domains[4], (Domain{"my-rack", 256, 72, 3.5, 15}));
  EXPECT_EQ(cluster->gpus[258].hbm_gbps, 6500);
  EXPECT_THAT(cluster->gpus[258].nics, ElementsAre(257));  // shares it with 257
  EXPECT_TRUE(cluster->gpus[259].nics.empty());            // nothing serves local GPU 3
  EXPECT_EQ(cluster->fabric.switches[0], (Switch{{0, 1}, 2.0}));
  EXPECT_EQ(cluster->nics[17].gbps, 0);
  EXPECT_EQ(cluster->nics[40].gbps, 24);
  EXPECT_EQ(cluster->gpus[130].nvlink_gbps, 300);
  EXPECT_EQ(cluster->gpus[9].nvlink_gbps, 185);
  EXPECT_TRUE(cluster->gpus[10].dead);
}

TEST(ReadClusterTest, DefaultsAreTheDocumentedOnes) {
  const Result<ClusterDescription> description = DescriptionFromText(
      R"({"types": {"t": {"gpus": 2, "nvlinkGBps": 100, "hbmGBps": 1000,
                          "nics": [{"gpus": [0], "GBps": 10}, {"gpus": [1], "GBps": 10}]}},
          "domains": [{"type": "t"}]})");
  ASSERT_TRUE(description) << ToString(description.error());
  ASSERT_EQ(description->types.size(), 1u);
  EXPECT_EQ(description->types[0],
            (DomainType{"t", 2, 2, 100, 1000, {{{0}, 10, 0}, {{1}, 10, 1}}, 3.4, 14}));
  EXPECT_EQ(description->entries, (std::vector<DomainEntry>{{0, 2, 1}}));
  EXPECT_EQ(description->fabric, (Fabric{RailCrossing::kFull, 1.0, {}}));
  EXPECT_TRUE(description->overrides.empty());
}

TEST(ReadClusterTest, ReadsEveryRailCrossing) {
  const auto crossing = [](std::string_view fabric) {
    const Result<Cluster> cluster = ClusterFromText(
        R"({"domains": [{"type": "dgx-h100"}], "fabric": )" + std::string(fabric) + "}");
    EXPECT_TRUE(cluster) << ToString(cluster.error());
    return cluster.value_or(Cluster{}).fabric;
  };
  EXPECT_EQ(crossing("{}"), (Fabric{RailCrossing::kFull, 1.0, {}}));
  EXPECT_EQ(crossing(R"({"railCrossing": "NONE"})"), (Fabric{RailCrossing::kNone, 1.0, {}}));
  EXPECT_EQ(crossing(R"({"railCrossing": "SPINE", "spineOversubscription": 3.5})"),
            (Fabric{RailCrossing::kSpine, 3.5, {}}));
}

TEST(ReadClusterTest, ATypeOfTheFileWinsOverABuiltInOne) {
  const Result<Cluster> cluster = ClusterFromText(
      R"({"types": {"dgx-h100": {"gpus": 4, "nvlinkGBps": 1, "hbmGBps": 2, "nics": []}},
          "domains": [{"type": "dgx-h100"}]})");
  ASSERT_TRUE(cluster) << ToString(cluster.error());
  EXPECT_EQ(cluster->gpus.size(), 4u);
  EXPECT_EQ(cluster->gpus[0].nvlink_gbps, 1);
}

TEST(ReadClusterTest, OnlyUsedTypesAreKeptInOrderOfNames) {
  const Result<ClusterDescription> description = DescriptionFromText(
      R"({"domains": [{"type": "gb200-nvl72"}, {"type": "dgx-h100"}, {"type": "gb200-nvl72"}]})");
  ASSERT_TRUE(description);
  ASSERT_EQ(description->types.size(), 2u);
  EXPECT_EQ(description->types[0].name, "dgx-h100");
  EXPECT_EQ(description->types[1].name, "gb200-nvl72");
  EXPECT_EQ(description->entries, (std::vector<DomainEntry>{{1, 72, 1}, {0, 8, 1}, {1, 72, 1}}));
}

TEST(ReadClusterTest, AnInlineClusterIsNamedByItsPathInTheJob) {
  const auto refusal = [](std::string_view text) {
    const Result<JsonDocument> job = ParseJson(text, "job.json");
    EXPECT_TRUE(job);
    const Result<Cluster> cluster = ReadCluster(*JsonCursor(*job).Find("cluster"));
    return cluster ? "accepted" : ToString(cluster.error());
  };
  EXPECT_EQ(refusal(R"({"cluster": {"domains": [{"type": "dgx-h100"}]}})"), "accepted");
  EXPECT_EQ(refusal(R"({"cluster": {"domains": [{"type": "dgx-h100", "gpu": 4}]}})"),
            "job.json: cluster.domains.0: unknown field 'gpu'; did you mean 'gpus'?");
  EXPECT_EQ(refusal(R"({"cluster": {"domains": [{"type": "dgx-h100"}],
                        "overrides": [{"gpu": 8, "dead": true}]}})"),
            "job.json: cluster.overrides.0.gpu: there is no GPU 8 among 8");
}

TEST(ReadClusterTest, AMissingFileIsNamed) {
  const Result<Cluster> cluster = ReadClusterFile("no/such/cluster.json");
  ASSERT_FALSE(cluster);
  EXPECT_EQ(ToString(cluster.error()),
            "no/such/cluster.json: cannot open: No such file or directory");
}

TEST(ReadClusterTest, RefusesWhatIsNotACluster) {
  EXPECT_EQ(Refusal("[]"), "cluster.json: expected an object, got an array");
  EXPECT_EQ(Refusal("{}"), "cluster.json: field 'domains' is missing; add it");
  EXPECT_EQ(Refusal(R"({"domains": []})"),
            "cluster.json: domains: is empty; list at least one domain");
  EXPECT_EQ(Refusal(R"({"domain": []})"),
            "cluster.json: unknown field 'domain'; did you mean 'domains'?");
  EXPECT_EQ(Refusal(R"({"domains": [{}]})"),
            "cluster.json: domains.0: field 'type' is missing; add it");
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h10"}]})"),
            "cluster.json: domains.0.type: there is no type 'dgx-h10'; did you mean 'dgx-h100'?");
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "gpus": 9}]})"),
            "cluster.json: domains.0.gpus: must be from 1 to 8, got 9");
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "gpus": 0}]})"),
            "cluster.json: domains.0.gpus: must be from 1 to 8, got 0");
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "count": 0}]})"),
            "cluster.json: domains.0.count: must be at least 1, got 0");
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "count": 1.5}]})"),
            "cluster.json: domains.0.count: expected an integer, got 1.5");
}

// The refusal of a type with these fields.
std::string TypeRefusal(std::string_view fields) {
  return Refusal(R"({"types": {"t": {)" + std::string(fields) +
                 R"(}}, "domains": [{"type": "dgx-h100"}]})");
}

TEST(ReadClusterTest, RefusesBadTypesEvenUnused) {
  EXPECT_EQ(TypeRefusal(R"("gpus": 2)"),
            "cluster.json: types.t: field 'hbmGBps' is missing; add it");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2, "hbmGBps": 1, "nics": [])"),
            "cluster.json: types.t: field 'nvlinkGBps' is missing; add it");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2, "hbmGBps": 1, "nvlinkGBps": 1)"),
            "cluster.json: types.t: field 'nics' is missing; add it");
  EXPECT_EQ(TypeRefusal(R"("gpus": 1, "hbmGBps": 1, "nics": [])"), "accepted");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2, "gpusPerNode": 3, "hbmGBps": 1, "nvlinkGBps": 1)"),
            "cluster.json: types.t.gpusPerNode: must be from 1 to 2, got 3");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2, "hbmGBps": 0)"),
            "cluster.json: types.t.hbmGBps: must be above 0, got 0");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2, "hbmGBps": 1, "nvlinkGBps": -1)"),
            "cluster.json: types.t.nvlinkGBps: must be at least 0, got -1");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2, "hbmGBps": 1, "nvlinkGbps": 1)"),
            "cluster.json: types.t: unknown field 'nvlinkGbps'; did you mean 'nvlinkGBps'?");
  EXPECT_EQ(TypeRefusal(R"("gpus": 2000000)"),
            "cluster.json: types.t.gpus: must be from 1 to 1048576, got 2000000");
}

// The refusal of a type of four GPUs, two a node, with this NIC.
std::string NicRefusal(std::string_view nic) {
  return TypeRefusal(R"("gpus": 4, "gpusPerNode": 2, "hbmGBps": 1, "nvlinkGBps": 1, "nics": [)" +
                     std::string(nic) + "]");
}

TEST(ReadClusterTest, RefusesBadNics) {
  EXPECT_EQ(NicRefusal(R"({"gpus": [0, 1], "GBps": 0})"), "accepted");
  EXPECT_EQ(NicRefusal(R"({"gpus": [], "GBps": 1})"),
            "cluster.json: types.t.nics.0.gpus: is empty; list at least one");
  EXPECT_EQ(NicRefusal(R"({"gpus": [2], "GBps": 1})"),
            "cluster.json: types.t.nics.0.gpus.0: must be from 0 to 1, got 2");
  EXPECT_EQ(NicRefusal(R"({"gpus": [1, 0, 1], "GBps": 1})"),
            "cluster.json: types.t.nics.0.gpus: 1 stands twice");
  EXPECT_EQ(NicRefusal(R"({"gpus": [0]})"),
            "cluster.json: types.t.nics.0: field 'GBps' is missing; add it");
  EXPECT_EQ(NicRefusal(R"({"gpus": [0], "GBps": 1, "rail": -1})"),
            "cluster.json: types.t.nics.0.rail: must be from 0 to 65535, got -1");
}

TEST(ReadClusterTest, RefusesBadFabrics) {
  const auto refused = [](std::string_view fabric) {
    return Refusal(R"({"domains": [{"type": "dgx-h100"}], "fabric": )" + std::string(fabric) + "}");
  };
  EXPECT_EQ(
      refused(R"({"railCrossing": "full"})"),
      "cluster.json: fabric.railCrossing: unknown rail crossing 'full'; use FULL, SPINE or NONE");
  EXPECT_EQ(refused(R"({"railCrossing": "SPINE", "spineOversubscription": 0.5})"),
            "cluster.json: fabric.spineOversubscription: must be at least 1, got 0.5");
  EXPECT_EQ(refused(R"({"spineOversubscription": 2})"),
            "cluster.json: fabric.spineOversubscription: limits nothing unless railCrossing is "
            "SPINE; remove it or set railCrossing");
  EXPECT_EQ(refused(R"({"switches": [{"domains": []}]})"),
            "cluster.json: fabric.switches.0.domains: is empty; list at least one");
  EXPECT_EQ(refused(R"({"switches": [{"domains": [0, 0]}]})"),
            "cluster.json: fabric.switches.0.domains: 0 stands twice");
  EXPECT_EQ(refused(R"({"switches": [{"domains": [0], "oversubscription": 0}]})"),
            "cluster.json: fabric.switches.0.oversubscription: must be at least 1, got 0");
}

TEST(ReadClusterTest, RefusesBadOverrides) {
  const auto refused = [](std::string_view change) {
    return Refusal(R"({"domains": [{"type": "dgx-h100"}], "overrides": [)" + std::string(change) +
                   "]}");
  };
  EXPECT_EQ(refused("7"), "cluster.json: overrides.0: expected an object, got an integer");
  EXPECT_EQ(refused("{}"),
            "cluster.json: overrides.0: names not exactly one of 'gpu', 'nic' and 'domain'; write "
            "one override for each");
  EXPECT_EQ(refused(R"({"gpu": 1, "nic": 1, "GBps": 2})"),
            "cluster.json: overrides.0: names not exactly one of 'gpu', 'nic' and 'domain'; write "
            "one override for each");
  EXPECT_EQ(refused(R"({"gpu": 1})"),
            "cluster.json: overrides.0: changes nothing; give nicGBps, nvlinkGBps or dead");
  EXPECT_EQ(refused(R"({"nic": 1})"), "cluster.json: overrides.0: changes nothing; give GBps");
  EXPECT_EQ(refused(R"({"domain": 0})"),
            "cluster.json: overrides.0: changes nothing; give nvlinkGBps");
  EXPECT_EQ(refused(R"({"gpu": 1, "GBps": 2})"),
            "cluster.json: overrides.0: unknown field 'GBps'; known are 'gpu', 'nicGBps', "
            "'nvlinkGBps', 'dead'");
  EXPECT_EQ(refused(R"({"gpu": -1, "dead": true})"),
            "cluster.json: overrides.0.gpu: must be from 0 to 2147483647, got -1");
  EXPECT_EQ(refused(R"({"gpu": 1, "dead": 1})"),
            "cluster.json: overrides.0.dead: expected a boolean, got an integer");
  EXPECT_EQ(refused(R"({"nic": 1, "GBps": -2})"),
            "cluster.json: overrides.0.GBps: must be at least 0, got -2");
}

// A number, name or bracket changed anywhere ends in a cluster or in one line that names the file.
TEST(ReadClusterTest, SurvivesRandomDamage) {
  std::random_device device;
  const std::uint64_t seed = device();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text(kExample);
    const std::size_t at = random() % text.size();
    text[at] = "0123456789-.,:{}[]\"abefgpu"[random() % 25];
    const Result<Cluster> cluster = ClusterFromText(text);
    if (cluster) {
      ++accepted;
      ASSERT_EQ(cluster->gpus.size(), static_cast<std::size_t>(cluster->domains.back().first_gpu +
                                                               cluster->domains.back().gpu_count));
      continue;
    }
    ++refused;
    const std::string error = ToString(cluster.error());
    ASSERT_TRUE(error.starts_with("cluster.json: ")) << error;
    ASSERT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace reshard
