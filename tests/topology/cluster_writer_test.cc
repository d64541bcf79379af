#include "topology/cluster_writer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "foundation/json_writer.h"
#include "tests/topology/read_text.h"
#include "topology/builtin_types.h"

namespace reshard {
namespace {

std::string Canonical(std::string_view text) {
  const Result<ClusterDescription> description = DescriptionFromText(text);
  EXPECT_TRUE(description) << ToString(description.error());
  return description ? CanonicalJson(ClusterToJson(*description)) : "";
}

TEST(ClusterToJsonTest, WritesEverythingThatCounts) {
  EXPECT_EQ(
      Canonical(R"({"types": {"t": {"gpus": 2, "nvlinkGBps": 100, "hbmGBps": 1000.5,
                                    "nics": [{"gpus": [1, 0], "GBps": 10}]}},
                    "domains": [{"type": "t"}, {"type": "t", "count": 2}, {"type": "t", "gpus": 1}],
                    "overrides": [{"gpu": 1, "dead": true, "nvlinkGBps": 5}, {"nic": 0, "GBps": 0},
                                  {"gpu": 6, "nicGBps": 1}, {"domain": 1, "nvlinkGBps": 2}]})"),
      R"({"domains":[{"count":3,"gpus":2,"type":"t"},{"count":1,"gpus":1,"type":"t"}],)"
      R"("fabric":{"railCrossing":"FULL","spineOversubscription":1,"switches":[]},)"
      R"("overrides":[{"dead":true,"gpu":1,"nvlinkGBps":5},{"GBps":0,"nic":0},)"
      R"({"gpu":6,"nicGBps":1},{"domain":1,"nvlinkGBps":2}],)"
      R"("types":{"t":{"gpus":2,"gpusPerNode":2,"hbmGBps":1000.5,"networkLatencyUs":14,)"
      R"("nics":[{"GBps":10,"gpus":[0,1],"rail":0}],"nvlinkGBps":100,"nvlinkLatencyUs":3.4}}})");
}

TEST(ClusterToJsonTest, RepeatedDomainsAreNotExpanded) {
  EXPECT_LT(Canonical(R"({"domains": [{"type": "gb200-nvl72", "gpus": 64, "count": 128}]})").size(),
            500u);
}

TEST(ClusterToJsonTest, BuiltInTypesAreWrittenOut) {
  const std::string text = Canonical(R"({"domains": [{"type": "dgx-h100"}]})");
  EXPECT_NE(text.find(R"("types":{"dgx-h100":{"gpus":8)"), std::string::npos) << text;
}

// A cluster.json of random domains, fabric and overrides; every part legal.
class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed) : random_(seed) {}

  ClusterDescription Make() {
    ClusterDescription description;
    description.types = {RandomType("a"), RandomType("b"), *BuiltinType("gb200-nvl72")};
    const int entry_count = Below(4) + 1;
    std::vector<bool> used(description.types.size(), false);
    for (int i = 0; i < entry_count; ++i) {
      const int type = Below(3);
      used[type] = true;
      const int gpus = Below(description.types[type].gpu_count) + 1;
      description.entries.push_back({type, gpus, Below(3) + 1});
    }
    DropUnused(used, description);
    const Cluster cluster = *BuildCluster(description);
    description.fabric = RandomFabric(cluster);
    for (int i = Below(6); i > 0; --i) description.overrides.push_back(RandomOverride(cluster));
    return description;
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  double Rate() { return Below(100000) / 64.0; }

  DomainType RandomType(std::string name) {
    DomainType type{std::move(name), Below(20) + 1, 1, 0, Rate() + 1, {}, Rate(), Rate()};
    type.gpus_per_node = Below(type.gpu_count) + 1;
    if (type.gpu_count > 1) type.nvlink_gbps = Rate();
    for (int i = Below(5); i > 0; --i) {
      NicType nic{{}, Rate(), Below(9)};
      for (int gpu = 0; gpu < type.gpus_per_node; ++gpu) {
        if (Below(2) == 0) nic.gpus.push_back(gpu);
      }
      if (!nic.gpus.empty()) type.nics.push_back(nic);
    }
    return type;
  }

  static void DropUnused(const std::vector<bool>& used, ClusterDescription& description) {
    std::vector<DomainType> kept;
    std::vector<int> position(used.size());
    for (std::size_t i = 0; i < used.size(); ++i) {
      position[i] = static_cast<int>(kept.size());
      if (used[i]) kept.push_back(description.types[i]);
    }
    description.types = kept;
    for (DomainEntry& entry : description.entries) entry.type = position[entry.type];
  }

  Fabric RandomFabric(const Cluster& cluster) {
    Fabric fabric;
    fabric.rail_crossing = static_cast<RailCrossing>(Below(3));
    if (fabric.rail_crossing == RailCrossing::kSpine) fabric.spine_oversubscription = 1 + Rate();
    for (int i = Below(3); i > 0; --i) {
      Switch one{{}, 1 + Rate()};
      const int domain_count = static_cast<int>(cluster.domains.size());
      const int first = Below(domain_count);
      for (int d = first; d < domain_count; d += Below(2) + 1) one.domains.push_back(d);
      fabric.switches.push_back(one);
    }
    return fabric;
  }

  Override RandomOverride(const Cluster& cluster) {
    Override change;
    if (Below(3) == 0 && !cluster.nics.empty()) {
      change.nic = Below(static_cast<int>(cluster.nics.size()));
      change.nic_gbps = Rate();
    } else if (Below(2) == 0) {
      change.gpu = Below(static_cast<int>(cluster.gpus.size()));
      change.dead = Below(2) == 0;
    } else {
      change.domain = Below(static_cast<int>(cluster.domains.size()));
      change.nvlink_gbps = cluster.domains[*change.domain].gpu_count == 1 ? 0 : Rate();
    }
    return change;
  }

  std::mt19937_64 random_;
};

TEST(ClusterToJsonTest, ReadsBackAsAnEqualCluster) {
  std::random_device device;
  const std::uint64_t first_seed = device();
  for (std::uint64_t seed = first_seed; seed < first_seed + 500; ++seed) {
    SCOPED_TRACE(seed);
    const ClusterDescription description = RandomCluster(seed).Make();
    const Result<Cluster> cluster = BuildCluster(description);
    ASSERT_TRUE(cluster) << ToString(cluster.error());
    const std::string text = CanonicalJson(ClusterToJson(description));
    const Result<Cluster> read = ClusterFromText(text);
    ASSERT_TRUE(read) << ToString(read.error()) << "\n" << text;
    ASSERT_EQ(*read, *cluster) << text;
    ASSERT_EQ(Canonical(text), text);
  }
}

TEST(BuildClusterTest, GpusAndNicsNameEachOther) {
  std::random_device device;
  const std::uint64_t first_seed = device();
  for (std::uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    SCOPED_TRACE(seed);
    const Result<Cluster> cluster = BuildCluster(RandomCluster(seed).Make());
    ASSERT_TRUE(cluster) << ToString(cluster.error());
    std::vector<std::vector<NicIndex>> serving(cluster->gpus.size());
    for (std::size_t nic = 0; nic < cluster->nics.size(); ++nic) {
      ASSERT_FALSE(cluster->nics[nic].gpus.empty());
      for (const GpuIndex gpu : cluster->nics[nic].gpus) {
        ASSERT_EQ(cluster->gpus[gpu].node, cluster->nics[nic].node);
        serving[gpu].push_back(static_cast<NicIndex>(nic));
      }
    }
    for (std::size_t gpu = 0; gpu < serving.size(); ++gpu) {
      ASSERT_EQ(cluster->gpus[gpu].nics, serving[gpu]) << "GPU " << gpu;
      const Domain& domain = cluster->domains[cluster->gpus[gpu].domain];
      ASSERT_GE(static_cast<int>(gpu), domain.first_gpu);
      ASSERT_LT(static_cast<int>(gpu), domain.first_gpu + domain.gpu_count);
    }
  }
}

}  // namespace
}  // namespace reshard
