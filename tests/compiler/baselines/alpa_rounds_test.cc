#include "compiler/baselines/alpa_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reshard {
namespace {

// What the rounds take, one after another, each as long as its largest work.
std::int64_t TimeOf(const std::vector<AlpaWork>& works,
                    const std::vector<std::vector<AlpaTask>>& rounds) {
  std::int64_t time = 0;
  for (const auto& round : rounds) {
    std::int64_t largest = 0;
    for (const AlpaTask& task : round) largest = std::max(largest, works[task.work].bytes);
    time += largest;
  }
  return time;
}

TEST(AlpaRoundsTest, TheKnownWorksTakeTheOptimum) {
  // Two senders have 18 to send together: 9 is optimal. In order of size alone it takes 15.
  const std::vector<AlpaWork> works = {{{0, 1}, {2, 3}, 4}, {{0, 1}, {2}, 2}, {{0, 1}, {3}, 2},
                                       {{0}, {4}, 3},       {{1}, {5}, 3},    {{0, 1}, {4, 5}, 4}};
  EXPECT_EQ(TimeOf(works, OrderAlpaRounds(works, 6)), 9);
}

TEST(AlpaRoundsTest, LoadsOfSendersEvenOut) {
  std::vector<AlpaWork> works;
  for (std::int32_t i = 0; i < 40; ++i) works.push_back({{0, 1, 2, 3}, {4 + i % 8}, 10});
  std::vector<std::int64_t> loads(4);
  const auto rounds = OrderAlpaRounds(works, 12);
  for (const auto& round : rounds) {
    for (const AlpaTask& task : round) loads[static_cast<std::size_t>(task.sender)] += 10;
  }
  EXPECT_EQ(rounds.size(), 10U);  // four at a time
  EXPECT_THAT(loads, ::testing::Each(100));
}

TEST(AlpaRoundsTest, AWorkerDoesOneThingInARound) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 100; ++trial) {
    const std::int32_t workers = 4 + static_cast<std::int32_t>(random() % 8);
    std::vector<AlpaWork> works(1 + random() % 30);
    for (AlpaWork& work : works) {
      std::vector<std::int32_t> all;
      for (std::int32_t worker = 0; worker < workers; ++worker) all.push_back(worker);
      std::shuffle(all.begin(), all.end(), random);
      const auto senders = 1 + static_cast<std::ptrdiff_t>(random() % 3);
      work.senders.assign(all.begin(), all.begin() + senders);
      work.receivers.assign(all.begin() + senders, all.begin() + senders + 1);
      work.bytes = 1 + static_cast<std::int64_t>(random() % 100);
    }
    const auto rounds = OrderAlpaRounds(works, workers);
    std::vector<int> done(works.size());
    for (const auto& round : rounds) {
      std::vector<int> uses(static_cast<std::size_t>(workers));
      for (const AlpaTask& task : round) {
        ++done[task.work];
        ASSERT_THAT(works[task.work].senders, ::testing::Contains(task.sender));
        ++uses[static_cast<std::size_t>(task.sender)];
        for (const std::int32_t receiver : works[task.work].receivers) {
          ++uses[static_cast<std::size_t>(receiver)];
        }
      }
      ASSERT_THAT(uses, ::testing::Each(::testing::Le(1)));
    }
    ASSERT_THAT(done, ::testing::Each(1));
  }
}

}  // namespace
}  // namespace reshard
