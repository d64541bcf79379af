#include "topology/cluster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/topology/read_text.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Cluster Built(std::string_view text) {
  Result<Cluster> cluster = ClusterFromText(text);
  EXPECT_TRUE(cluster) << ToString(cluster.error());
  return cluster.value_or(Cluster{});
}

// Four GPUs a node; one NIC alone, one shared by two GPUs, one alone.
constexpr std::string_view kSharedNicType =
    R"("types": {"rack": {"gpus": 72, "gpusPerNode": 4, "nvlinkGBps": 720, "hbmGBps": 6500, "nics":
       [{"gpus": [0], "GBps": 48, "rail": 0}, {"gpus": [2, 1], "GBps": 40, "rail": 1},
        {"gpus": [3], "GBps": 48, "rail": 0}]}})";

std::string WithSharedNics(std::string_view rest) {
  return "{" + std::string(kSharedNicType) + ", " + std::string(rest) + "}";
}

TEST(BuildClusterTest, NumbersDomainByDomainNodeByNode) {
  // Four domains of 64: 16 nodes of 4 GPUs and 4 NICs each.
  const Cluster cluster =
      Built(R"({"domains": [{"type": "gb200-nvl72", "gpus": 64, "count": 4}]})");
  EXPECT_EQ(cluster.domains.size(), 4u);
  EXPECT_EQ(cluster.gpus.size(), 256u);
  EXPECT_EQ(cluster.nics.size(), 256u);
  EXPECT_EQ(cluster.node_count, 64);
  EXPECT_EQ(cluster.domains[2], (Domain{"gb200-nvl72", 128, 64, 3.4, 14}));
  // GPU 101 is the 38th of domain 1 (101 - 64 = 37), in its node 37 / 4 = 9, hence node 16 + 9, at
  // place 37 - 36 = 1 there: rail 1.
  EXPECT_EQ(cluster.gpus[101], (Gpu{1, 25, 720, 8000, {101}, false}));
  EXPECT_EQ(cluster.nics[101], (Nic{1, 25, 1, 48, {101}}));
}

TEST(BuildClusterTest, ATrimmedDomainKeepsItsFirstGpusAndTheNicsThatServeOne) {
  // 6 of 72: node 0 whole, of node 1 GPUs 4 and 5. There the shared NIC serves local 1 and 2, of
  // which 1 stays; the NIC of local 3 goes and takes no number.
  const Cluster cluster = Built(
      WithSharedNics(R"("domains": [{"type": "rack", "gpus": 6}, {"type": "rack", "gpus": 1}])"));
  EXPECT_EQ(cluster.node_count, 3);
  ASSERT_EQ(cluster.gpus.size(), 7u);
  ASSERT_EQ(cluster.nics.size(), 6u);
  EXPECT_EQ(cluster.nics[0], (Nic{0, 0, 0, 48, {0}}));
  EXPECT_EQ(cluster.nics[1], (Nic{0, 0, 1, 40, {1, 2}}));
  EXPECT_EQ(cluster.nics[2], (Nic{0, 0, 0, 48, {3}}));
  EXPECT_EQ(cluster.nics[3], (Nic{0, 1, 0, 48, {4}}));
  EXPECT_EQ(cluster.nics[4], (Nic{0, 1, 1, 40, {5}}));
  EXPECT_EQ(cluster.nics[5], (Nic{1, 2, 0, 48, {6}}));
  EXPECT_THAT(cluster.gpus[2].nics, ElementsAre(1));
  EXPECT_THAT(cluster.gpus[5].nics, ElementsAre(4));
}

TEST(BuildClusterTest, ATrimmedGpuThatOnlyASharedNicServesKeepsIt) {
  // A NIC whose first GPU is trimmed away cannot be (first GPUs stay); one whose last is, stays.
  const Cluster cluster = Built(WithSharedNics(R"("domains": [{"type": "rack", "gpus": 2}])"));
  ASSERT_EQ(cluster.nics.size(), 2u);
  EXPECT_EQ(cluster.nics[1], (Nic{0, 0, 1, 40, {1}}));
}

TEST(BuildClusterTest, UnequalRanksPerNode) {
  // 7 and 8 GPUs, as two domains: the first node of 7 has no NIC on rail 7.
  const Cluster two =
      Built(R"({"domains": [{"type": "dgx-h100", "gpus": 7}, {"type": "dgx-h100"}]})");
  EXPECT_EQ(two.gpus.size(), 15u);
  EXPECT_EQ(two.nics.size(), 15u);
  EXPECT_EQ(two.domains[1].first_gpu, 7);
  EXPECT_EQ(two.nics[6], (Nic{0, 0, 6, 48, {6}}));
  EXPECT_EQ(two.nics[7], (Nic{1, 1, 0, 48, {7}}));
  // 15 GPUs of one domain at 8 a node: nodes of 8 and 7.
  const Cluster one = Built(R"({"types": {"pair": {"gpus": 15, "gpusPerNode": 8, "nvlinkGBps": 300,
      "hbmGBps": 3000, "nics": [{"gpus": [0, 1, 2, 3, 4, 5, 6, 7], "GBps": 48}]}},
      "domains": [{"type": "pair"}]})");
  EXPECT_EQ(one.node_count, 2);
  EXPECT_EQ(one.gpus[7].node, 0);
  EXPECT_EQ(one.gpus[8].node, 1);
  ASSERT_EQ(one.nics.size(), 2u);
  EXPECT_THAT(one.nics[1].gpus, ElementsAre(8, 9, 10, 11, 12, 13, 14));
}

TEST(BuildClusterTest, ADomainOfOneGpuHasNoNvlink) {
  const Cluster cluster = Built(R"({"domains": [{"type": "dgx-h100", "gpus": 1, "count": 3}]})");
  ASSERT_EQ(cluster.gpus.size(), 3u);
  for (const Gpu& gpu : cluster.gpus) EXPECT_EQ(gpu.nvlink_gbps, 0);
  EXPECT_EQ(cluster.nics.size(), 3u);
  EXPECT_EQ(cluster.node_count, 3);
}

TEST(BuildClusterTest, DegradedLinksNicsAndDeadGpus) {
  const Cluster cluster = Built(R"({"domains": [{"type": "dgx-h100", "count": 3}], "overrides": [
      {"domain": 2, "nvlinkGBps": 300}, {"gpu": 17, "nvlinkGBps": 185, "nicGBps": 0},
      {"nic": 9, "GBps": 24}, {"gpu": 10, "dead": true}]})");
  EXPECT_EQ(cluster.gpus[15].nvlink_gbps, 370);
  EXPECT_EQ(cluster.gpus[16].nvlink_gbps, 300);
  EXPECT_EQ(cluster.gpus[17].nvlink_gbps, 185);
  EXPECT_EQ(cluster.gpus[23].nvlink_gbps, 300);
  EXPECT_EQ(cluster.nics[17].gbps, 0);
  EXPECT_EQ(cluster.nics[16].gbps, 48);
  EXPECT_EQ(cluster.nics[9].gbps, 24);
  EXPECT_TRUE(cluster.gpus[10].dead);
  EXPECT_FALSE(cluster.gpus[9].dead);
}

TEST(BuildClusterTest, LaterOverridesWin) {
  const Cluster cluster = Built(R"({"domains": [{"type": "dgx-h100"}], "overrides": [
      {"gpu": 3, "nvlinkGBps": 100, "dead": true}, {"domain": 0, "nvlinkGBps": 200},
      {"gpu": 3, "dead": false}]})");
  EXPECT_EQ(cluster.gpus[3].nvlink_gbps, 200);
  EXPECT_FALSE(cluster.gpus[3].dead);
}

TEST(BuildClusterTest, NicGBpsOfAGpuSetsEveryNicThatServesItAlone) {
  const Cluster cluster = Built(
      R"({"domains": [{"type": "vr200-nvl72", "gpus": 4}], "overrides": [{"gpu": 1, "nicGBps": 50}]})");
  EXPECT_THAT(cluster.gpus[1].nics, ElementsAre(2, 3));
  EXPECT_EQ(cluster.nics[1].gbps, 96);
  EXPECT_EQ(cluster.nics[2].gbps, 50);
  EXPECT_EQ(cluster.nics[3].gbps, 50);
  EXPECT_EQ(cluster.nics[4].gbps, 96);
}

TEST(BuildClusterTest, NicGBpsOfAGpuIsRefusedWhereANicIsShared) {
  EXPECT_EQ(Refusal(WithSharedNics(
                R"("domains": [{"type": "rack"}], "overrides": [{"gpu": 5, "nicGBps": 10}])")),
            "cluster.json: overrides.0.nicGBps: GPU 5 shares NIC 4; override the NIC: {\"nic\": 4, "
            "\"GBps\": ..}");
  // Trimmed to two GPUs the NIC serves GPU 1 alone.
  const Cluster trimmed = Built(WithSharedNics(
      R"("domains": [{"type": "rack", "gpus": 2}], "overrides": [{"gpu": 1, "nicGBps": 10}])"));
  EXPECT_EQ(trimmed.nics[1].gbps, 10);
}

TEST(BuildClusterTest, OverridesMustNameWhatIsThere) {
  const auto refused = [](std::string_view change) {
    return Refusal(R"({"domains": [{"type": "dgx-h100"}, {"type": "dgx-h100", "gpus": 1}],
                       "overrides": [{"gpu": 0, "dead": true}, )" +
                   std::string(change) + "]}");
  };
  EXPECT_EQ(refused(R"({"gpu": 9, "dead": true})"),
            "cluster.json: overrides.1.gpu: there is no GPU 9 among 9");
  EXPECT_EQ(refused(R"({"nic": 9, "GBps": 1})"),
            "cluster.json: overrides.1.nic: there is no NIC 9 among 9");
  EXPECT_EQ(refused(R"({"domain": 2, "nvlinkGBps": 1})"),
            "cluster.json: overrides.1.domain: there is no domain 2 among 2");
  EXPECT_EQ(
      refused(R"({"domain": 1, "nvlinkGBps": 1})"),
      "cluster.json: overrides.1.nvlinkGBps: domain 1 has one GPU, hence no NVLink; remove it");
  EXPECT_EQ(
      refused(R"({"gpu": 8, "nvlinkGBps": 1})"),
      "cluster.json: overrides.1.nvlinkGBps: domain 1 has one GPU, hence no NVLink; remove it");
}

TEST(BuildClusterTest, AGpuWithoutNicHasNoneToOverride) {
  constexpr std::string_view kNoNics =
      R"({"types": {"box": {"gpus": 2, "nvlinkGBps": 300, "hbmGBps": 3000, "nics": []}},
          "domains": [{"type": "box"}])";
  const Cluster cluster = Built(std::string(kNoNics) + "}");
  EXPECT_THAT(cluster.nics, IsEmpty());
  EXPECT_THAT(cluster.gpus[1].nics, IsEmpty());
  EXPECT_EQ(Refusal(std::string(kNoNics) + R"(, "overrides": [{"gpu": 1, "nicGBps": 10}]})"),
            "cluster.json: overrides.0.nicGBps: no NIC serves GPU 1");
}

TEST(BuildClusterTest, SwitchesMustNameDomainsThatAreThere) {
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "count": 2}],
                        "fabric": {"switches": [{"domains": [0]}, {"domains": [2, 1]}]}})"),
            "cluster.json: fabric.switches.1.domains: there is no domain 2 among 2");
}

TEST(BuildClusterTest, ClustersWithoutBoundAreRefusedBeforeTheyAreBuilt) {
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "count": 1000000000000}]})"),
            "cluster.json: domains.0: the cluster has more than 1048576 GPUs");
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "count": 9223372036854775807}]})"),
            "cluster.json: domains.0: the cluster has more than 1048576 GPUs");
  // 2^17 domains of 8 are 2^20 GPUs; one more GPU is too many.
  EXPECT_EQ(Refusal(R"({"domains": [{"type": "dgx-h100", "count": 131072},
                                    {"type": "dgx-h100", "gpus": 1}]})"),
            "cluster.json: domains.1: the cluster has more than 1048576 GPUs");
  std::string nics = R"({"gpus": [0], "GBps": 1})";
  for (int i = 1; i < 5; ++i) nics += R"(, {"gpus": [0], "GBps": 1})";
  // Five NICs per GPU: 5 * 2^20 > 2^22.
  EXPECT_EQ(Refusal(R"({"types": {"t": {"gpus": 1, "hbmGBps": 1, "nics": [)" + nics +
                    R"(]}}, "domains": [{"type": "t", "count": 1048576}]})"),
            "cluster.json: domains.0: the cluster has more than 4194304 NICs");
}

}  // namespace
}  // namespace reshard
