#include "compiler/planning/tree_segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tests/compiler/fabric_refit.h"
#include "tests/compiler/planned_job.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

struct Segmented {
  Stages stages;
  DeliveryTrees trees;
  std::vector<std::vector<TreeSegment>> segments;
};

Segmented SegmentsOn(const RandomRefit& refit, std::int64_t stripes) {
  Segmented made{MakeStages(refit.job, refit.cluster), {}, {}};
  const Stages& stages = made.stages;
  const RailBundles bundles(refit.job, refit.cluster, stages.resources);
  made.trees =
      FindDeliveryTrees(stages.deliveries, stages.plan.demand, stages.resources, bundles).value();
  made.segments =
      MakeTreeSegments(stages.deliveries, stages.plan.demand, stages.resources, bundles, made.trees,
                       NicLevels(stages.resources, bundles, 0.9 * stages.bound_seconds), stripes);
  return made;
}

// Of every class each byte once; a head in the domain that a hop leads to, for every hop.
TEST(TreeSegments, CoverEveryClassAndEnterWhereTheirTreeDoes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const std::int64_t stripes : {1, 4}) {
      const Segmented made = SegmentsOn(MakeFabricRefit("missing spine", seed), stripes);
      std::map<std::pair<std::size_t, ClassIndex>, std::int64_t> bytes;
      for (std::size_t g = 0; g < made.segments.size(); ++g) {
        for (const TreeSegment& segment : made.segments[g]) {
          EXPECT_LT(segment.begin, segment.end);
          bytes[{g, segment.demand_class}] += segment.end - segment.begin;
          ASSERT_EQ(segment.heads.size(), segment.tree->hops.size());
          for (std::size_t h = 0; h < segment.heads.size(); ++h) {
            const RankIndex head = segment.heads[h];
            EXPECT_EQ(made.stages.resources.domain[static_cast<std::size_t>(head)],
                      segment.tree->hops[h].to);
            EXPECT_TRUE(made.stages.resources.HasNic(head));
          }
        }
      }
      for (std::size_t g = 0; g < made.segments.size(); ++g) {
        const DeliveryGroup& group = made.stages.deliveries.groups[g];
        for (const GroupClass& c : group.classes) {
          const auto whole =
              made.stages.plan.demand.classes[static_cast<std::size_t>(c.demand_class)].bytes;
          EXPECT_EQ((bytes[{g, c.demand_class}]), group.local ? 0 : whole);
        }
      }
    }
  }
}

TEST(TreeSegments, ReceiversAreThoseOfOneDomain) {
  DeliveryGroup group;
  group.domains = {{1, {4, 6}}, {3, {12}}};
  EXPECT_THAT(ReceiversIn(group, 1), ElementsAre(4, 6));
  EXPECT_THAT(ReceiversIn(group, 3), ElementsAre(12));
  EXPECT_TRUE(ReceiversIn(group, 2).empty());
}

}  // namespace
}  // namespace reshard
