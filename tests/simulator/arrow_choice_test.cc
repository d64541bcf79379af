#include "simulator/arrow_choice.h"

#include <gtest/gtest.h>

#include "sample_plan.h"
#include "simulator/preparation.h"

namespace reshard {
namespace {

// Between domains 0 -> 2 in rounds 0 to 5 and 1 -> 3 in rounds 2 to 4, inside one 0 -> 1 in rounds
// 0 to 9.
SamplePlan SomePlan(const Cluster& cluster) {
  SamplePlan sample(cluster);
  sample.Send(0, 2, 6000, 0, 6, true, true)
      .Send(1, 3, 3000, 2, 3, true, true)
      .Send(0, 1, 10'000, 0, 10, true, true);
  return sample;
}

// Transfers the choice wants, by asking for each.
std::int64_t Count(const ArrowChoice& choice, const ReplayModel& model) {
  std::int64_t count = 0;
  for (std::size_t t = 0; t < model.transfers.size(); ++t) {
    for (RoundIndex round = 0; round < model.round_count; ++round) {
      std::int64_t bytes = 0;
      for (const Segment& segment : model.Of(model.transfers[t].bytes)) {
        if (segment.first_round <= round) bytes = segment.bytes;
      }
      if (bytes > 0 && choice.Wants(static_cast<TransferIndex>(t), round)) ++count;
    }
  }
  return count;
}

TEST(ArrowChoiceTest, TakesAsManyAsAllowed) {
  const Cluster cluster = SampleCluster(2, 2);
  const SamplePlan sample = SomePlan(cluster);
  const Result<PreparedReplay> prepared = PrepareReplay(sample.plan, cluster, *DefaultConstants());
  ASSERT_TRUE(prepared);
  const auto expect = [&](std::int64_t arrows_max, std::int64_t chosen, const std::string& text) {
    const ArrowChoice choice(sample.plan, prepared->model, arrows_max);
    EXPECT_EQ(choice.Text(), text) << arrows_max;
    EXPECT_EQ(Count(choice, prepared->model), chosen) << arrows_max;
  };
  expect(19, 19, "all 19 transfers");
  expect(18, 9, "9 of 19 transfers: those over NICs");
  expect(9, 9, "9 of 19 transfers: those over NICs");
  // Rounds 0, 2, 4: one, two, two. Rounds 0 and 3: one, two. Rounds 0, 4, 8: one, two. 0 and 5:
  // two.
  expect(8, 5, "5 of 19 transfers: those over NICs of every 2nd round");
  expect(4, 3, "3 of 19 transfers: those over NICs of every 3rd round");
  expect(2, 2, "2 of 19 transfers: those over NICs of every 5th round");
  expect(1, 1, "1 of 19 transfers: those over NICs of every 6th round");
  expect(0, 0, "0 of 19 transfers: the first round alone has too many");
}

}  // namespace
}  // namespace reshard
