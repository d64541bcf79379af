#include "schedules/drawing/cluster_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "schedules/drawing/binding_resource.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// `count` domains of `gpus` GPUs with a NIC each.
Cluster SomeCluster(std::int32_t count, std::int32_t gpus) {
  Cluster cluster;
  for (std::int32_t d = 0; d < count; ++d) {
    cluster.domains.push_back({"<rack> & co", d * gpus, gpus, 3.4, 14});
    for (std::int32_t i = 0; i < gpus; ++i) {
      const std::int32_t gpu = d * gpus + i;
      cluster.gpus.push_back({d, d, 720, 8000, {gpu}, false});
      cluster.nics.push_back({d, d, i, 48, {gpu}});
    }
  }
  return cluster;
}

// One source rank in each of the first half of the domains, one destination rank in each of the
// others, each of which takes a class of its own of 1000 * (domain + 1) bytes from every source.
Plan BipartitePlan(std::int32_t domains) {
  Plan plan;
  const std::int32_t half = domains / 2;
  plan.job.layouts.resize(1);
  plan.profiles = {{{1}}};
  plan.schedules.resize(static_cast<std::size_t>(domains));
  for (std::int32_t d = 0; d < domains; ++d) {
    const bool is_source = d < half;
    plan.job.ranks.push_back({d, d, d, is_source ? 0 : kNoGroup, is_source ? kNoGroup : 0,
                              is_source ? 0 : kNoLayout, is_source ? kNoLayout : 0});
    plan.schedules[static_cast<std::size_t>(d)].slots.resize(1);
  }
  for (std::int32_t from = 0; from < half; ++from) {
    for (std::int32_t to = half; to < domains; ++to) {
      const auto column = static_cast<ColumnIndex>(plan.columns.size());
      plan.columns.push_back({0, 0, 0, 1000 * (std::int64_t{to} + 1)});
      std::vector<SlotItem>& sent = plan.schedules[static_cast<std::size_t>(from)].slots[0].items;
      std::vector<SlotItem>& received = plan.schedules[static_cast<std::size_t>(to)].slots[0].items;
      plan.transfers.push_back({from,
                                to,
                                0,
                                {0, static_cast<std::int32_t>(sent.size()), 1},
                                {0, static_cast<std::int32_t>(received.size()), 1}});
      sent.push_back({column, 0, kFromParameters, 0, false});
      received.push_back({column, 0, kFromParameters, 0, true});
    }
  }
  return plan;
}

std::string Drawn(const Plan& plan, const Cluster& cluster, DrawingFormat format,
                  const std::vector<ResourceBusy>& utilisation = {}) {
  const auto drawing = DrawClusterView(plan, cluster, utilisation, format);
  EXPECT_TRUE(drawing.has_value()) << ToString(drawing.error());
  return drawing.value_or("");
}

TEST(DomainTrafficTest, BytesAreSummedByDomain) {
  // The small plan: 0 -> 2 carries 200 bytes, 0 -> 3 64, back 2 -> 1 72; inside domain 1 3 -> 4 64.
  const DomainTraffic traffic = SumByDomain(SmallPlan(), SomeCluster(2, 4),
                                            {{"NIC 1 out", 0.5},
                                             {"NIC 2 out", 0.25},
                                             {"NIC 4 in", 1},
                                             {"GPU 1 NVLink in", 1},
                                             {"NIC x", 1}});
  EXPECT_EQ(traffic.bytes[0][1], 264);
  EXPECT_EQ(traffic.bytes[1][0], 72);
  EXPECT_EQ(traffic.domains[1].nvlink_bytes, 64);
  EXPECT_EQ(traffic.domains[0].egress_bytes, 264);
  EXPECT_EQ(traffic.domains[0].ingress_bytes, 72);
  EXPECT_EQ(traffic.domains[0].sources, 1);
  EXPECT_EQ(traffic.domains[0].both, 1);
  EXPECT_EQ(traffic.domains[1].destinations, 3);
  EXPECT_DOUBLE_EQ(traffic.domains[0].egress_busy, 0.75 / 4);
  EXPECT_DOUBLE_EQ(traffic.domains[1].ingress_busy, 0.25);
}

TEST(BindingResourceTest, WitnessesAreReadByTheirWords) {
  using Kind = BindingResource::Kind;
  using Direction = BindingResource::Direction;
  const auto read = [](const char* text) { return BindingOf({1.0, "LB", text}); };
  EXPECT_EQ(read("domain 2 ingress: 673.2 GB over 64 NICs"),
            (BindingResource{Kind::kDomain, 2, Direction::kIngress}));
  EXPECT_EQ(read("GPU 17 egress: 3 GB"), (BindingResource{Kind::kGpu, 17, Direction::kEgress}));
  EXPECT_EQ(read("domain 0 fan-out: 3 GB"), (BindingResource{Kind::kDomain, 0, Direction::kBoth}));
  EXPECT_EQ(read("2 domains egress: 3 GB").kind, Kind::kNone);
  EXPECT_EQ(read("domain x ingress").kind, Kind::kNone);
  EXPECT_EQ(read("").kind, Kind::kNone);
}

TEST(ClusterViewTest, DomainsArrowsAndLabelsAreThere) {
  Plan plan = SmallPlan();
  plan.certificate.lower_bound.description = "domain 1 ingress: 264 B over 4 NICs";
  const std::string dot = Drawn(plan, SomeCluster(2, 4), DrawingFormat::kDot, {{"NIC 4 in", 1}});
  EXPECT_THAT(dot, StartsWith("digraph plan {"));
  EXPECT_THAT(dot, HasSubstr("domain 0: <rack> & co, 4 GPUs"));
  EXPECT_THAT(dot, HasSubstr("<td>1 source rank</td></tr><tr><td>1 source and destination rank<"));
  EXPECT_THAT(dot, HasSubstr("domains_0 -> domains_1"));
  EXPECT_THAT(dot, HasSubstr("<td bgcolor=\"#ffffff\">264 B</td>"));
  // A quarter of the way from white to orange.
  EXPECT_THAT(dot, HasSubstr("<td bgcolor=\"#fde9c8\"><font color=\"#7f0000\"><b>in 264 B, NICs "
                             "25 % busy</b>"));
  EXPECT_THAT(dot, HasSubstr("binding: domain 1 ingress: 264 B over 4 NICs"));
}

TEST(ClusterViewTest, TheBindingDomainAloneIsRed) {
  const auto count_red = [](const std::string& dot) {
    int count = 0;
    for (std::size_t at = dot.find("penwidth=3"); at != std::string::npos;
         at = dot.find("penwidth=3", at + 1)) {
      ++count;
    }
    return count;
  };
  Plan plan = SmallPlan();
  EXPECT_EQ(count_red(Drawn(plan, SomeCluster(2, 4), DrawingFormat::kDot)), 0);
  plan.certificate.lower_bound.description = "GPU 5 ingress: 64 B";
  EXPECT_EQ(count_red(Drawn(plan, SomeCluster(2, 4), DrawingFormat::kDot)), 1);
}

TEST(ClusterViewTest, AnSvgIsDrawnInThisProcessAndTheSameEachTime) {
  const std::string svg = Drawn(SmallPlan(), SomeCluster(2, 4), DrawingFormat::kSvg);
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_THAT(svg, HasSubstr("264 B"));
  EXPECT_THAT(svg, HasSubstr("&lt;rack&gt; &amp; co"));
  EXPECT_EQ(svg, Drawn(SmallPlan(), SomeCluster(2, 4), DrawingFormat::kSvg));
}

TEST(ClusterViewTest, ManyDomainsBecomeFewFramesAndAMatrix) {
  Plan plan = BipartitePlan(64);
  plan.certificate.lower_bound = {1, "LB2", "domain 63 ingress: 2 MB over 8 NICs"};
  const std::string dot = Drawn(plan, SomeCluster(64, 8), DrawingFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("domains 0-31: 32 of <rack> & co, 256 GPUs together"));
  EXPECT_THAT(dot, HasSubstr("domains 32-63: 32 of"));
  EXPECT_THAT(dot, HasSubstr("from domain (row) to domain (column); the darkest is 64.00 kB"));
  // 32 rows that send, 32 columns that receive, and column 63 marked.
  std::size_t cells = 0;
  for (std::size_t at = dot.find("fixedsize"); at != std::string::npos;
       at = dot.find("fixedsize", at + 1)) {
    ++cells;
  }
  EXPECT_EQ(cells, 32U * 32U);
  EXPECT_THAT(dot, HasSubstr("<b>63</b>"));
  EXPECT_THAT(dot, Not(HasSubstr("<b>62</b>")));
  EXPECT_THAT(Drawn(plan, SomeCluster(64, 8), DrawingFormat::kSvg), HasSubstr("<svg"));
}

TEST(ClusterViewTest, TypesMayHaveAnyName) {
  Cluster cluster = SomeCluster(2, 4);
  cluster.domains[0].type = "a\\Nb \"c\"";
  EXPECT_THAT(Drawn(SmallPlan(), cluster, DrawingFormat::kSvg),
              HasSubstr("domain 0: a\\Nb &quot;c&quot;, 4 GPUs"));
}

TEST(ClusterViewTest, HundredsOfDomainsShareRows) {
  const std::string dot = Drawn(BipartitePlan(130), SomeCluster(130, 1), DrawingFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("3 domains a row"));
}

TEST(ClusterViewTest, DomainsWithoutRanksAreCountedOnly) {
  const std::string dot = Drawn(SmallPlan(), SomeCluster(5, 4), DrawingFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("3 domains without a rank are left out"));
}

TEST(ClusterViewTest, AClusterThatLacksADomainIsRefused) {
  const auto drawing = DrawClusterView(SmallPlan(), SomeCluster(1, 4), {}, DrawingFormat::kDot);
  ASSERT_FALSE(drawing.has_value());
  EXPECT_THAT(ToString(drawing.error()), HasSubstr("it has no domain 1"));
}

}  // namespace
}  // namespace reshard
