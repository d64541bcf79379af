#include "compiler/planning/tree_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/fabric_refit.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

constexpr std::int64_t kHundredMegabytes = 100'000'000;

struct Routed {
  Stages stages;
  DeliveryTrees trees;
  Routes routes;
};

Routed RouteOn(const RandomRefit& refit, std::int64_t stripes) {
  Routed routed{MakeStages(refit.job, refit.cluster), {}, {}};
  const Stages& stages = routed.stages;
  const RailBundles bundles(refit.job, refit.cluster, stages.resources);
  routed.trees =
      FindDeliveryTrees(stages.deliveries, stages.plan.demand, stages.resources, bundles).value();
  routed.routes = MakeTreeRoutes(stages.deliveries, stages.plan.demand, stages.resources, bundles,
                                 routed.trees, stages.bound_seconds, Routes{}, stripes);
  return routed;
}

// Every byte of every class goes to every receiver of its group once.
void ExpectComplete(const Routed& routed) {
  const Stages& stages = routed.stages;
  using Key = std::pair<std::int32_t, ClassIndex>;
  std::map<Key, std::vector<std::pair<std::int64_t, std::int64_t>>> pieces;
  for (const RoutedColumn& column : routed.routes.columns) {
    pieces[{column.group, column.demand_class}].emplace_back(column.begin, column.end);
    std::set<RankIndex> reached;
    const DeliveryPath& path = routed.routes.paths[static_cast<std::size_t>(column.path)];
    for (std::size_t h = 0; h < path.hops.size(); ++h) {
      ASSERT_LT(path.hops[h].parent, static_cast<std::int32_t>(h));
      ASSERT_TRUE(reached.insert(path.hops[h].to).second);
    }
    const DeliveryGroup& group = stages.deliveries.groups[static_cast<std::size_t>(column.group)];
    for (const RankIndex receiver : group.Receivers()) ASSERT_TRUE(reached.contains(receiver));
  }
  for (std::size_t g = 0; g < stages.deliveries.groups.size(); ++g) {
    if (stages.deliveries.groups[g].local) continue;
    for (const GroupClass& c : stages.deliveries.groups[g].classes) {
      auto of_class = pieces[{static_cast<std::int32_t>(g), c.demand_class}];
      std::ranges::sort(of_class);
      std::int64_t at = 0;
      for (const auto& [begin, end] : of_class) {
        EXPECT_EQ(begin, at);
        at = end;
      }
      EXPECT_EQ(at, stages.plan.demand.classes[static_cast<std::size_t>(c.demand_class)].bytes);
    }
  }
}

// Seconds that the fullest NIC is busy one way, and the bytes that pass between two rails.
std::pair<double, std::int64_t> Fullest(const RandomRefit& refit, const Routed& routed) {
  const RankResources& resources = routed.stages.resources;
  std::vector<double> out(resources.domain.size(), 0.0);
  std::vector<double> in(resources.domain.size(), 0.0);
  std::int64_t crossing = 0;
  const auto rail = [&](RankIndex r) {
    const Gpu& gpu =
        refit.cluster
            .gpus[static_cast<std::size_t>(refit.job.ranks[static_cast<std::size_t>(r)].gpu)];
    return refit.cluster.nics[static_cast<std::size_t>(gpu.nics[0])].rail;
  };
  for (const RoutedColumn& column : routed.routes.columns) {
    for (const PathHop& hop : routed.routes.paths[static_cast<std::size_t>(column.path)].hops) {
      const RankIndex from = hop.parent == kFromSender ? column.exit : hop.from;
      const auto u = static_cast<std::size_t>(from);
      const auto v = static_cast<std::size_t>(hop.to);
      if (resources.domain[u] == resources.domain[v]) continue;
      out[u] += static_cast<double>(column.end - column.begin);
      in[v] += static_cast<double>(column.end - column.begin);
      if (rail(from) != rail(hop.to)) crossing += column.end - column.begin;
    }
  }
  double fullest = 0;
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (resources.network_gbps[r] <= 0) {
      EXPECT_EQ(out[r] + in[r], 0);
      continue;
    }
    fullest = std::max(fullest, std::max(out[r], in[r]) / (resources.network_gbps[r] * 1e9));
  }
  return {fullest, crossing};
}

// On all kinds of fabric: complete; no NIC is busy for noticeably longer than the program says or
// most of the bound; and where nothing can cross nothing does.
TEST(MakeTreeRoutes, DealWhatTheProgramSaysOutOverTheNics) {
  int routed_jobs = 0;
  for (const std::string& kind : FabricKinds()) {
    if (kind == "bare" || kind.starts_with("paired")) continue;  // several rails a GPU
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(kind + ", seed " + std::to_string(seed));
      const RandomRefit refit = MakeFabricRefit(kind, seed);
      const Routed routed = RouteOn(refit, seed % 2 == 0 ? 1 : 4);
      if (routed.trees.traffic.empty()) continue;
      ++routed_jobs;
      ExpectComplete(routed);
      const auto [fullest, crossing] = Fullest(refit, routed);
      EXPECT_LT(fullest, std::max(routed.trees.seconds, routed.stages.bound_seconds) * 1.05);
      if (refit.cluster.fabric.rail_crossing == RailCrossing::kNone) {
        EXPECT_EQ(crossing, 0);
      }
    }
  }
  EXPECT_GT(routed_jobs, 60);
}

// Domain 0 holds 100 MB that domain 1 needs, on other rails; nothing crosses. The only GPU of
// domain 2 is on both: it has no NVLink, and needs none.
TEST(MakeTreeRoutes, AHelperOfOneRankNeedsNoNvlink) {
  const std::vector<TestDomain> domains{
      {1, 0, {{{0}, 50, 0}}}, {1, 0, {{{0}, 50, 1}}}, {1, 0, {{{0}, 50, 0}, {{0}, 50, 1}}}};
  RandomRefit refit{MakeTestCluster(domains), {}, ""};
  refit.cluster.fabric.rail_crossing = RailCrossing::kNone;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
  builder.AddSource({{"w", {0}, {kHundredMegabytes}}});
  builder.AddDestination({{"w", {0}, {kHundredMegabytes}}});
  builder.AddSource({});
  refit.job = builder.On(refit.cluster);
  const Routed routed = RouteOn(refit, 1);
  ExpectComplete(routed);
  for (const DeliveryPath& path : routed.routes.paths) {
    ASSERT_EQ(path.hops.size(), 2U);
    EXPECT_EQ(path.hops[0].to, 2);
    EXPECT_EQ(path.hops[1].to, 1);
  }
}

// Rank 0 alone has the bytes, and no NVLink to the NIC beside it: they leave by its own, in 2 ms.
TEST(MakeTreeRoutes, AHolderWithoutNvlinkSendsItself) {
  for (const RailCrossing crossing : {RailCrossing::kSpine, RailCrossing::kNone}) {
    const std::vector<TestDomain> domains{UniformDomain(2, 0, 50), UniformDomain(2, 400, 50)};
    RandomRefit refit{MakeTestCluster(domains), {}, ""};
    refit.cluster.fabric.rail_crossing = crossing;
    JobRecordsBuilder builder;
    builder.AddTensor("w", DType::kU8, {kHundredMegabytes});
    builder.AddSource({{"w", {0}, {kHundredMegabytes}}});
    builder.AddSource({});
    for (int i = 0; i < 2; ++i) builder.AddDestination({{"w", {0}, {kHundredMegabytes}}});
    refit.job = builder.On(refit.cluster);
    const Routed routed = RouteOn(refit, 1);
    ExpectComplete(routed);
    for (const RoutedColumn& column : routed.routes.columns) EXPECT_EQ(column.exit, 0);
    EXPECT_NEAR(routed.trees.seconds, 2e-3, 1e-8);
    if (crossing == RailCrossing::kNone) {
      EXPECT_EQ(Fullest(refit, routed).second, 0);
    }
  }
}

}  // namespace
}  // namespace reshard
