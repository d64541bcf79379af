#include "topology/cluster_edit.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/topology/read_text.h"
#include "topology/cluster_writer.h"

namespace reshard {
namespace {

// Two domains of two nodes of two GPUs; rails 0 and 1.
constexpr std::string_view kText = R"json({
  "types": {"t": {"gpus": 4, "gpusPerNode": 2, "nvlinkGBps": 300, "hbmGBps": 4000,
                  "nics": [{"gpus": [0], "GBps": 40}, {"gpus": [1], "GBps": 20}]}},
  "domains": [{"type": "t", "count": 2}],
  "overrides": [{"domain": 1, "nvlinkGBps": 200}]})json";

class ClusterEdit : public testing::Test {
 protected:
  ClusterDescription description_ = DescriptionFromText(kText).value();

  // The cluster as cluster.json would say it after the edits.
  Cluster Built() const {
    const JsonDocument document{"edited", ClusterToJson(description_)};
    Result<Cluster> cluster = ReadCluster(JsonCursor(document));
    EXPECT_TRUE(cluster) << ToString(cluster.error());
    return cluster ? std::move(*cluster) : Cluster{};
  }
};

TEST_F(ClusterEdit, RatesOfSingleParts) {
  ASSERT_TRUE(ChangeNic(2, {0.5, true}, description_));
  ASSERT_TRUE(ChangeNic(2, {0.5, true}, description_));  // on what it is by then
  ASSERT_TRUE(ChangeNic(3, {0}, description_));
  ASSERT_TRUE(ChangeNvlinkOfGpu(4, {0.5, true}, description_));
  ASSERT_TRUE(ChangeNicsOfGpu(0, {7}, description_));
  const Cluster cluster = Built();
  EXPECT_EQ(cluster.nics[0].gbps, 7);
  EXPECT_EQ(cluster.nics[1].gbps, 20);
  EXPECT_EQ(cluster.nics[2].gbps, 10);
  EXPECT_EQ(cluster.nics[3].gbps, 0);
  EXPECT_EQ(cluster.gpus[3].nvlink_gbps, 300);
  EXPECT_EQ(cluster.gpus[4].nvlink_gbps, 100);  // half of what the override gave its domain
  EXPECT_EQ(cluster.gpus[5].nvlink_gbps, 200);
}

TEST_F(ClusterEdit, RailsAndDomains) {
  ASSERT_TRUE(ChangeRail(1, {0}, description_));
  ASSERT_TRUE(ChangeNicsOfDomain(1, {2, true}, description_));
  ASSERT_TRUE(ChangeNvlinkOfDomain(1, {0.5, true}, description_));
  const Cluster cluster = Built();
  for (std::size_t nic = 0; nic < 8; ++nic) {
    EXPECT_EQ(cluster.nics[nic].gbps, nic % 2 == 1 ? 0 : (nic < 4 ? 40 : 80)) << nic;
  }
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(cluster.gpus[gpu].nvlink_gbps, gpu < 4 ? 300 : 100) << gpu;
  }
}

TEST_F(ClusterEdit, WholeTypes) {
  ChangeTypes(TypeRate::kNic, {2, true}, description_);
  ChangeTypes(TypeRate::kNvlink, {500}, description_);
  ChangeTypes(TypeRate::kHbm, {8000}, description_);
  ChangeTypes(TypeRate::kNetworkLatency, {30}, description_);
  ChangeTypes(TypeRate::kNvlinkLatency, {0}, description_);
  const Cluster cluster = Built();
  EXPECT_EQ(cluster.nics[0].gbps, 80);
  EXPECT_EQ(cluster.nics[1].gbps, 40);
  EXPECT_EQ(cluster.gpus[0].nvlink_gbps, 500);
  EXPECT_EQ(cluster.gpus[7].nvlink_gbps, 200);  // an override's word stays
  EXPECT_EQ(cluster.gpus[7].hbm_gbps, 8000);
  EXPECT_EQ(cluster.domains[1].network_latency_us, 30);
  EXPECT_EQ(cluster.domains[1].nvlink_latency_us, 0);
}

TEST_F(ClusterEdit, DeadGpusAndSpines) {
  ASSERT_TRUE(KillGpu(6, description_));
  ASSERT_TRUE(SetSpine(4, description_));
  const Cluster cluster = Built();
  EXPECT_TRUE(cluster.gpus[6].dead);
  EXPECT_FALSE(cluster.gpus[5].dead);
  EXPECT_EQ(cluster.fabric.rail_crossing, RailCrossing::kSpine);
  EXPECT_EQ(cluster.fabric.spine_oversubscription, 4);
  EXPECT_FALSE(SetSpine(0.5, description_));
}

TEST_F(ClusterEdit, DomainsDealtAgainKeepEveryNumber) {
  ASSERT_TRUE(ChangeNic(5, {1}, description_));
  const Cluster before = Built();
  ASSERT_TRUE(DealDomains(4, description_));
  const Cluster after = Built();
  ASSERT_EQ(after.domains.size(), 4);
  EXPECT_EQ(after.node_count, before.node_count);
  ASSERT_EQ(after.gpus.size(), before.gpus.size());
  ASSERT_EQ(after.nics.size(), before.nics.size());
  for (std::size_t gpu = 0; gpu < after.gpus.size(); ++gpu) {
    EXPECT_EQ(after.gpus[gpu].domain, static_cast<DomainIndex>(gpu / 2));
    EXPECT_EQ(after.gpus[gpu].node, before.gpus[gpu].node);
    EXPECT_EQ(after.gpus[gpu].nics, before.gpus[gpu].nics);
    EXPECT_EQ(after.gpus[gpu].nvlink_gbps, before.gpus[gpu].nvlink_gbps);
  }
  for (std::size_t nic = 0; nic < after.nics.size(); ++nic) {
    EXPECT_EQ(after.nics[nic].gbps, before.nics[nic].gbps) << nic;
    EXPECT_EQ(after.nics[nic].rail, before.nics[nic].rail) << nic;
  }
  ASSERT_TRUE(DealDomains(1, description_));
  EXPECT_EQ(Built().domains.size(), 1);
}

// A DGX node of 8 of which each domain keeps 4: the nodes stay of 4.
TEST(ClusterEditOfTrimmedNodes, StayTrimmed) {
  ClusterDescription description =
      DescriptionFromText(R"json({"domains": [{"type": "dgx-h100", "gpus": 4, "count": 4}]})json")
          .value();
  ASSERT_TRUE(DealDomains(2, description));
  const Cluster cluster = BuildCluster(description).value();
  EXPECT_EQ(cluster.domains.size(), 2);
  EXPECT_EQ(cluster.gpus.size(), 16);
  EXPECT_EQ(cluster.nics.size(), 16);
  EXPECT_EQ(cluster.node_count, 4);
}

TEST_F(ClusterEdit, RefusesWhatIsNotThere) {
  EXPECT_EQ(ChangeNic(8, {0}, description_).error().reason, "there is no NIC 8 among 8");
  EXPECT_EQ(ChangeRail(2, {0}, description_).error().remedy, "they are numbered 0 to 1");
  EXPECT_EQ(KillGpu(8, description_).error().fault, Fault::kUsage);
  EXPECT_EQ(ChangeNvlinkOfDomain(2, {0}, description_).error().reason,
            "there is no domain 2 among 2");
}

TEST_F(ClusterEdit, RefusesDomainsThatCannotBe) {
  EXPECT_EQ(DealDomains(3, description_).error().reason, "8 GPUs do not divide by 3");
  EXPECT_EQ(DealDomains(8, description_).error().reason, "domains of 1 GPUs cut nodes of 2");
  EXPECT_EQ(DealDomains(0, description_).error().fault, Fault::kInput);
  description_.fabric.switches.push_back({{0}, 2});
  EXPECT_FALSE(DealDomains(4, description_));
}

}  // namespace
}  // namespace reshard
