#include "compiler/planning/water_filling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/compiler/random_draws.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using Shares = std::vector<std::vector<std::int64_t>>;

struct SplitCase {
  std::vector<SplitRequest> requests;
  std::vector<double> rates;
  std::vector<double> loads;  // carried already
};

std::vector<double> CarriedBy(const SplitCase& of, const Shares& shares) {
  std::vector<double> carried = of.loads;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::size_t k = 0; k < shares[i].size(); ++k) {
      carried[static_cast<std::size_t>(of.requests[i].candidates[k])] +=
          static_cast<double>(shares[i][k]);
    }
  }
  return carried;
}

double LongestTime(const SplitCase& of, const std::vector<double>& carried) {
  double longest = 0;
  for (std::size_t c = 0; c < carried.size(); ++c) {
    if (of.rates[c] > 0) longest = std::max(longest, carried[c] / of.rates[c]);
  }
  return longest;
}

// The least possible longest time, by max-flow min-cut over all sets of candidates: what can go
// nowhere but into a set (and lies there already), divided by the set's rate.
double LeastLongestTime(const SplitCase& of) {
  double least = 0;
  const auto candidates = static_cast<std::uint32_t>(of.rates.size());
  for (std::uint32_t set = 1; set < (1U << candidates); ++set) {
    double bytes = 0;
    double rate = 0;
    for (std::uint32_t c = 0; c < candidates; ++c) {
      if ((set >> c & 1U) == 0) continue;
      rate += of.rates[c];
      bytes += of.loads[c];
    }
    if (rate <= 0) continue;
    for (const SplitRequest& request : of.requests) {
      // Candidates without a rate take nothing, unless there are no others: then they take all.
      bool inside = true;
      bool able = false;
      for (const std::int32_t c : request.candidates) {
        if (of.rates[static_cast<std::size_t>(c)] <= 0) continue;
        able = true;
        inside = inside && (set >> static_cast<std::uint32_t>(c) & 1U) != 0;
      }
      if (able && inside) bytes += static_cast<double>(request.bytes);
    }
    least = std::max(least, bytes / rate);
  }
  return least;
}

// One request over rates 1 and 3: a quarter and three quarters.
TEST(SplitBalanced, InProportionToRates) {
  std::vector<double> loads(2, 0.0);
  const std::vector<SplitRequest> requests{{6400, {0, 1}}};
  EXPECT_THAT(SplitBalanced(requests, std::vector<double>{1, 3}, loads),
              ElementsAre(ElementsAre(1600, 4800)));
  EXPECT_THAT(loads, ElementsAre(1600, 4800));
}

// The narrow request fills candidate 0; the wide one then has room at 1 and 2 alone: 3200 + 0,
// and 6400 over two.
TEST(SplitBalanced, NarrowRequestsGoFirst) {
  std::vector<double> loads(3, 0.0);
  const std::vector<SplitRequest> requests{{6400, {0, 1, 2}}, {3200, {0}}};
  EXPECT_THAT(SplitBalanced(requests, std::vector<double>{1, 1, 1}, loads),
              ElementsAre(ElementsAre(0, 3200, 3200), ElementsAre(3200)));
}

// 1000 carried already by candidate 0: level is (1000 + 1000) / 2, nothing more goes there.
TEST(SplitBalanced, MindsWhatIsCarriedAlready) {
  std::vector<double> loads{1600, 0};
  const std::vector<SplitRequest> requests{{4800, {0, 1}}};
  EXPECT_THAT(SplitBalanced(requests, std::vector<double>{1, 1}, loads),
              ElementsAre(ElementsAre(1600, 3200)));
}

// Filled one after the other, the first request would take half of candidate 1 and keep it. Level
// of all three: (4800 + 4000) / 3 units; candidate 1 takes the rest of both.
TEST(SplitBalanced, RequestsOfEqualWidthShareTheirCommonCandidate) {
  std::vector<double> loads(3, 0.0);
  const std::vector<SplitRequest> requests{{4800 * 1600, {0, 1}}, {4000 * 1600, {1, 2}}};
  const Shares shares = SplitBalanced(requests, std::vector<double>{1, 1, 1}, loads);
  constexpr double kLevel = 8800.0 * 1600 / 3;
  for (const double load : loads) EXPECT_NEAR(load, kLevel, kLevel * 1e-3);
  EXPECT_NEAR(static_cast<double>(shares[0][1]), 4800.0 * 1600 - kLevel, kLevel * 1e-3);
}

TEST(SplitBalanced, ZeroRatesTakeNothing) {
  std::vector<double> loads(3, 0.0);
  const std::vector<SplitRequest> requests{
      {4, {0, 1}}, {4, {1, 2}}, {1 << 20, {0, 1, 2}}, {15, {0, 1, 2}}};
  const Shares shares = SplitBalanced(requests, std::vector<double>{0, 1, 0}, loads);
  EXPECT_THAT(shares, ElementsAre(ElementsAre(0, 4), ElementsAre(4, 0), ElementsAre(0, 1 << 20, 0),
                                  ElementsAre(0, 15, 0)));
}

TEST(SplitBalanced, SplitsEvenlyWhereAllRatesAreZero) {
  std::vector<double> loads(2, 0.0);
  const std::vector<SplitRequest> requests{{3200, {0, 1}}};
  EXPECT_THAT(SplitBalanced(requests, std::vector<double>{0, 0}, loads),
              ElementsAre(ElementsAre(1600, 1600)));
}

TEST(SplitBalanced, NothingToSplit) {
  std::vector<double> loads(1, 7.0);
  EXPECT_TRUE(SplitBalanced({}, std::vector<double>{1}, loads).empty());
  const std::vector<SplitRequest> requests{{0, {}}, {0, {0}}};
  EXPECT_THAT(SplitBalanced(requests, std::vector<double>{1}, loads),
              ElementsAre(ElementsAre(), ElementsAre(0)));
  EXPECT_EQ(loads[0], 7.0);
}

// Case C19: one NIC must carry 200 units, since only it can, the others 28 between them; what the
// others may take is none of the 200's business.
TEST(SplitBalanced, ABoundCandidateLeavesTheRestLevel) {
  std::vector<double> loads(5, 0.0);
  const std::vector<SplitRequest> requests{{200 * 1600, {0}}, {28 * 1600, {0, 1, 2, 3, 4}}};
  EXPECT_THAT(
      SplitBalanced(requests, std::vector<double>(5, 48.0), loads),
      ElementsAre(ElementsAre(200 * 1600), ElementsAre(0, 7 * 1600, 7 * 1600, 7 * 1600, 7 * 1600)));
}

SplitCase RandomCase(std::uint64_t seed) {
  RandomDraws draws(seed);
  SplitCase made;
  const std::int64_t candidates = draws.Between(1, 9);
  const std::vector<double> rates{0, 12, 25, 48, 48, 48};
  for (std::int64_t c = 0; c < candidates; ++c) {
    made.rates.push_back(seed % 3 == 0 ? 48 : draws.Of(rates));
    made.loads.push_back(
        made.rates.back() > 0 && draws.Percent(20) ? static_cast<double>(draws.Below(1 << 24)) : 0);
  }
  const std::int64_t requests = draws.Between(1, 40);
  for (std::int64_t i = 0; i < requests; ++i) {
    SplitRequest request;
    const std::int64_t density = draws.Between(10, 90);
    for (std::int64_t c = 0; c < candidates; ++c) {
      if (draws.Percent(density)) request.candidates.push_back(static_cast<std::int32_t>(c));
    }
    if (request.candidates.empty()) {
      request.candidates.push_back(static_cast<std::int32_t>(draws.Below(candidates)));
    }
    request.bytes = draws.Percent(10) ? draws.Below(40) : draws.Below(1 << 26);
    made.requests.push_back(request);
  }
  return made;
}

TEST(SplitBalanced, KeepsEveryByteAndItsAlignment) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SplitCase of = RandomCase(seed);
    std::vector<double> loads = of.loads;
    const Shares shares = SplitBalanced(of.requests, of.rates, loads);
    ASSERT_EQ(shares.size(), of.requests.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const SplitRequest& request = of.requests[i];
      ASSERT_EQ(shares[i].size(), request.candidates.size());
      EXPECT_EQ(std::accumulate(shares[i].begin(), shares[i].end(), std::int64_t{0}),
                request.bytes);
      const bool any = std::ranges::any_of(request.candidates, [&](std::int32_t c) {
        return of.rates[static_cast<std::size_t>(c)] > 0;
      });
      int ragged = 0;
      for (std::size_t k = 0; k < shares[i].size(); ++k) {
        EXPECT_GE(shares[i][k], 0);
        ragged += shares[i][k] % kSplitAlignmentBytes != 0 ? 1 : 0;
        const bool able = of.rates[static_cast<std::size_t>(request.candidates[k])] > 0;
        if (any && !able) {
          EXPECT_EQ(shares[i][k], 0);
        }
      }
      EXPECT_LE(ragged, 1);  // the last one with bytes
    }
    EXPECT_THAT(loads, testing::Pointwise(testing::DoubleNear(1.0), CarriedBy(of, shares)));
  }
}

TEST(SplitBalanced, IsWithinAPercentOfTheLeastLongestTime) {
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SplitCase of = RandomCase(seed);
    std::vector<double> loads = of.loads;
    const Shares shares = SplitBalanced(of.requests, of.rates, loads);
    const double least = LeastLongestTime(of);
    // A share is off by one unit at most, on each side.
    const double rounding = static_cast<double>(of.requests.size() * 2 * kSplitAlignmentBytes) / 12;
    const double longest = LongestTime(of, CarriedBy(of, shares));
    EXPECT_GE(longest, least * (1 - 1e-9) - rounding);
    EXPECT_LE(longest, least * 1.01 + rounding);
    if (least > 0) worst = std::max(worst, (longest - rounding) / least);
  }
  RecordProperty("worst", std::to_string(worst));
}

}  // namespace
}  // namespace reshard
