#include "simulator/recurrence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace reshard {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

// When a lane's step of a round ends.
using Ends = std::function<Nanoseconds(RoundIndex)>;

struct Found {
  RoundIndex at = 0;
  Recurrence recurrence;
};

// Ends steps of all lanes round by round, and looks for a recurrence after each.
std::optional<Found> FirstFound(const std::vector<Ends>& lanes, RoundIndex rounds,
                                RoundIndex begin = 0, RoundIndex lag = 1,
                                double tolerance = kPeriodTolerance, RoundIndex more_history = 0) {
  StepHistory history(lanes.size(), RecurrenceFinder::HistoryRounds(lag) + more_history);
  RecurrenceFinder finder(begin, lag, tolerance);
  for (RoundIndex round = 0; round < rounds; ++round) {
    std::vector<RecurrenceFinder::LaneProgress> progress;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      history.Add(lane, round, lanes[lane](round));
      progress.push_back({lane, round});
    }
    if (round < begin) continue;
    const std::optional<Recurrence> found =
        finder.Find(history, progress, round, lanes.front()(round));
    if (found) return Found{round, *found};
  }
  return std::nullopt;
}

// Rounds that last 1, 3, 1, 3, .. ms: two of them repeat, one alone does not. Of lag 1 the last two
// rounds decide, and are compared with the two before.
TEST(RecurrenceTest, FindsTheShortestPeriod) {
  const Ends ends = [](RoundIndex round) { return (2 * round + round % 2) * kMillisecond; };
  const std::optional<Found> found = FirstFound({ends}, 20);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->recurrence.rounds, 2);
  EXPECT_EQ(found->recurrence.time, 4 * kMillisecond);
  EXPECT_EQ(found->at, 3);
}

TEST(RecurrenceTest, AsManyRoundsMustRepeatAsWaitsReachBack) {
  const Ends ends = [](RoundIndex round) { return round * kMillisecond; };
  EXPECT_EQ(FirstFound({ends}, 40, 0, 1)->at, 2);
  EXPECT_EQ(FirstFound({ends}, 40, 0, 5)->at, 10);
}

// Nothing before `begin` is compared: rounds were other ones then.
TEST(RecurrenceTest, ComparesOnlyRoundsThatAreAlike) {
  const Ends ends = [](RoundIndex round) { return round * kMillisecond; };
  EXPECT_EQ(FirstFound({ends}, 40, 7, 1)->at, 9);
}

// One lane's rounds last 10 us longer than the other's: they drift apart.
TEST(RecurrenceTest, AllLanesMustRepeatTogether) {
  const Ends one = [](RoundIndex round) { return round * kMillisecond; };
  const Ends other = [](RoundIndex round) { return round * (kMillisecond + 10'000); };
  EXPECT_TRUE(FirstFound({one, one}, 40));
  EXPECT_FALSE(FirstFound({one, other}, 40));
}

// Over a period of 2 ms times may differ by 20 ns; over one of 50 us by nothing; by more if said.
TEST(RecurrenceTest, TimesMayDifferByAShareOfThePeriod) {
  const auto drifting = [](Nanoseconds period, Nanoseconds difference) {
    const Ends one = [=](RoundIndex round) { return round * period; };
    const Ends other = [=](RoundIndex round) { return round * (period + difference); };
    return std::vector<Ends>{one, other};
  };
  EXPECT_TRUE(FirstFound(drifting(2 * kMillisecond, 20), 20));
  EXPECT_FALSE(FirstFound(drifting(2 * kMillisecond, 21), 20));
  EXPECT_FALSE(FirstFound(drifting(50'000, 1), 20));
  EXPECT_TRUE(FirstFound(drifting(50'000, 50), 20, 0, 1, 1e-3));
}

// Periods of six rounds are found, of seven no more. (The lags are such that the equal rounds in a
// period are too few to tell that each repeats.)
TEST(RecurrenceTest, LongPeriodsAreNotFound) {
  const auto longer_once_in = [](RoundIndex rounds) {
    return [rounds](RoundIndex round) { return (round + round / rounds) * kMillisecond; };
  };
  const std::optional<Found> found = FirstFound({longer_once_in(6)}, 60, 0, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->recurrence.rounds, 6);
  EXPECT_FALSE(FirstFound({longer_once_in(7)}, 60, 0, 4));
}

// The history is a ring, and as long as the finder needs it.
TEST(RecurrenceTest, ALongerHistoryChangesNothing) {
  for (const RoundIndex lag : {3, 4, 8, 40}) {
    for (const RoundIndex period : {1, 2, 3, 6}) {
      const Ends ends = [period](RoundIndex round) {
        return (2 * round + round / period) * kMillisecond;
      };
      const std::optional<Found> found = FirstFound({ends}, 400, 0, lag);
      const std::optional<Found> with_more = FirstFound({ends}, 400, 0, lag, kPeriodTolerance, 97);
      ASSERT_TRUE(found && with_more) << lag << " " << period;
      EXPECT_EQ(found->at, with_more->at);
      EXPECT_EQ(found->recurrence.rounds, with_more->recurrence.rounds);
      EXPECT_EQ(found->recurrence.rounds % period, 0) << lag << " " << period;
    }
  }
}

TEST(RecurrenceTest, ClearForgets) {
  StepHistory history(1, RecurrenceFinder::HistoryRounds(1));
  RecurrenceFinder finder(0, 1, kPeriodTolerance);
  for (RoundIndex round = 0; round < 8; ++round) {
    history.Add(0, round, round * kMillisecond);
    finder.Clear();
    const std::vector<RecurrenceFinder::LaneProgress> progress = {{0, round}};
    EXPECT_FALSE(finder.Find(history, progress, round, round * kMillisecond));
  }
}

}  // namespace
}  // namespace reshard
