#include "compiler/baselines/traffic_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/baselines/baseline_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

TEST(TrafficBuilderTest, RangesSplitWithTheLargerPartsFirst) {
  // 7 over 3: 3, 2, 2.
  EXPECT_EQ(DivideRange(7, 3, 0).end, 3);
  EXPECT_EQ(DivideRange(7, 3, 1).begin, 3);
  EXPECT_EQ(DivideRange(7, 3, 2).begin, 5);
  for (std::int64_t items = 1; items < 20; ++items) {
    for (std::int64_t parts = 1; parts < 20; ++parts) {
      std::int64_t next = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const ItemRange range = DivideRange(items, parts, part);
        ASSERT_EQ(range.begin, next);
        for (; next < range.end; ++next) ASSERT_EQ(PartOf(next, items, parts), part);
      }
      ASSERT_EQ(next, items);
    }
  }
}

TEST(TrafficBuilderTest, FlowsOfEqualEndsAddUpAndComeInOrder) {
  PhaseBuilder builder;
  builder.AddFlow(3, 1, 10, 1, 1);
  builder.AddFlow(0, 2, 5, 1);
  builder.AddFlow(3, 1, 20, 2, 1);
  builder.AddFlow(2, 2, 7, 1);  // to itself
  builder.AddPack(1, 4);
  builder.AddUnpack(1, 6);
  TrafficPhase phase;
  builder.MoveInto(phase);
  EXPECT_THAT(phase.flows, ElementsAre(TrafficFlow{0, 2, 5, 1, 0}, TrafficFlow{3, 1, 30, 3, 1}));
  EXPECT_THAT(phase.copies, ElementsAre(TrafficCopy{1, 4, 6}));
  EXPECT_TRUE(builder.empty());
}

TEST(TrafficBuilderTest, CoverageNamesWhatIsLeftOut) {
  JobRecordsBuilder builder;
  builder.AddTensor("a", DType::kF32, {4, 4});
  builder.AddTensor("b", DType::kF32, {2, 4});
  builder.AddSource({Rows("a", 0, 4, 4), Rows("b", 0, 2, 4)});
  builder.AddDestination({Rows("a", 0, 4, 4), Rows("b", 0, 2, 4)});
  builder.AddDestination({Rows("a", 0, 4, 4)});
  const Plan plan = MakeUnplanned(builder.job()).value();
  CoverageBuilder coverage(plan.job);
  coverage.Omit(PlaceTensors(plan.job)[0], "too square");
  coverage.Omit(PlaceTensors(plan.job)[0], "too late a reason");
  Traffic traffic;
  coverage.Finish(plan.demand, traffic);
  // "a" goes to two ranks, "b" to one.
  EXPECT_THAT(traffic.omissions, ElementsAre(Omission{0, 1, "too square", 2 * 64}));
  std::int64_t moving = 0;
  for (std::size_t c = 0; c < plan.demand.classes.size(); ++c) {
    moving += traffic.class_bytes[c] *
              static_cast<std::int64_t>(plan.demand.Needers(plan.demand.classes[c]).size());
  }
  EXPECT_EQ(moving, 32);
}

}  // namespace
}  // namespace reshard
