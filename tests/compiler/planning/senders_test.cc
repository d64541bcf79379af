#include "compiler/planning/senders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/planning/water_filling.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/random_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMegabyte = 1'000'000;

TestBox Whole(const std::string& tensor, std::int64_t bytes) { return {tensor, {0}, {bytes}}; }

// Bytes that leave over each rank's NIC at first hand.
std::vector<std::int64_t> SentByExit(const Stages& stages) {
  std::vector<std::int64_t> sent(stages.plan.job.ranks.size(), 0);
  for (std::size_t g = 0; g < stages.pieces.size(); ++g) {
    if (stages.deliveries.groups[g].local) continue;
    for (const Piece& piece : stages.pieces[g]) {
      sent[static_cast<std::size_t>(piece.exit)] += piece.size();
    }
  }
  return sent;
}

// Case C17: 8 replicas of everything on both sides. Each source sends an eighth, none twice.
TEST(AssignSenders, ReplicasShareTheWork) {
  const Cluster cluster = UniformCluster(2, 8, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {64 * kMegabyte});
  for (int i = 0; i < 8; ++i) builder.AddSource({Whole("w", 64 * kMegabyte)});
  for (int i = 0; i < 8; ++i) builder.AddDestination({Whole("w", 64 * kMegabyte)});
  std::vector<std::int64_t> sent = SentByExit(MakeStages(builder.On(cluster), cluster));
  sent.resize(8);
  EXPECT_THAT(sent, Each(8 * kMegabyte));
}

// "own" only rank 0 holds, 10 MB; "all" everybody, 30 MB: rank 0 sends its own 10, the other three
// the rest, 10 each.
TEST(AssignSenders, WhoHoldsMoreAloneSendsLessOfTheRest) {
  const Cluster cluster = UniformCluster(2, 4, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("all", DType::kU8, {30 * kMegabyte});
  builder.AddTensor("own", DType::kU8, {10 * kMegabyte});
  builder.AddSource({Whole("all", 30 * kMegabyte), Whole("own", 10 * kMegabyte)});
  for (int i = 0; i < 3; ++i) builder.AddSource({Whole("all", 30 * kMegabyte)});
  for (int i = 0; i < 4; ++i) {
    builder.AddDestination({Whole("all", 30 * kMegabyte), Whole("own", 10 * kMegabyte)});
  }
  std::vector<std::int64_t> sent = SentByExit(MakeStages(builder.On(cluster), cluster));
  sent.resize(4);
  for (const std::int64_t bytes : sent) EXPECT_NEAR(bytes, 10 * kMegabyte, kMegabyte / 100);
}

// Rank 0 holds 40 MB alone, and its domain of four NICs is what binds: each sends 10.
TEST(AssignSenders, ExitsWhereOneNicWouldBind) {
  const Cluster cluster = UniformCluster(2, 4, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {40 * kMegabyte});
  builder.AddSource({Whole("w", 40 * kMegabyte)});
  for (int i = 0; i < 3; ++i) builder.AddSource({});
  for (int i = 0; i < 4; ++i) builder.AddDestination({Whole("w", 40 * kMegabyte)});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  std::vector<std::int64_t> sent = SentByExit(stages);
  sent.resize(4);
  EXPECT_THAT(sent, Each(10 * kMegabyte));
  for (const Piece& piece : stages.pieces[0]) EXPECT_EQ(piece.holder, 0);
}

// The same, but the receiving domain has one NIC that binds for four times as long: no hop is worth
// its while.
TEST(AssignSenders, NoExitsWhereNothingIsGained) {
  const std::vector<TestDomain> domains{UniformDomain(4, 400, 50), UniformDomain(1, 0, 50)};
  const Cluster cluster = MakeTestCluster(domains);
  JobRecordsBuilder builder;
  builder.AddTensor("v", DType::kU8, {30 * kMegabyte});
  builder.AddTensor("w", DType::kU8, {10 * kMegabyte});
  builder.AddSource({Whole("w", 10 * kMegabyte)});
  builder.AddSource({Whole("v", 30 * kMegabyte)});
  builder.AddSource({});
  builder.AddSource({});
  builder.AddDestination({Whole("v", 30 * kMegabyte), Whole("w", 10 * kMegabyte)});
  EXPECT_THAT(SentByExit(MakeStages(builder.On(cluster), cluster)),
              ElementsAre(10 * kMegabyte, 30 * kMegabyte, 0, 0, 0));
}

// Rank 0 holds 20 MB for rank 2 and 20 MB for rank 3 alone, and two NICs send them. Rank 1 sends
// half of each, or one of both as a whole.
TEST(AssignSenders, ExitsShareEveryGroupOrAllTogether) {
  const Cluster cluster = UniformCluster(2, 2, 400, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("v", DType::kU8, {20 * kMegabyte});
  builder.AddTensor("w", DType::kU8, {20 * kMegabyte});
  builder.AddSource({Whole("v", 20 * kMegabyte), Whole("w", 20 * kMegabyte)});
  builder.AddSource({});
  builder.AddDestination({Whole("v", 20 * kMegabyte)});
  builder.AddDestination({Whole("w", 20 * kMegabyte)});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  const auto sizes = [&](ExitShares shares) {
    std::map<RankIndex, std::vector<std::int64_t>> of_exit;
    for (const std::vector<Piece>& group :
         AssignSenders(stages.plan.demand, stages.deliveries, stages.resources,
                       stages.bound_seconds, nullptr, shares)) {
      for (const Piece& piece : group) of_exit[piece.exit].push_back(piece.size());
    }
    return of_exit;
  };
  const auto of_each = sizes(ExitShares::kOfEach);
  EXPECT_THAT(of_each.at(0), ElementsAre(10 * kMegabyte, 10 * kMegabyte));
  EXPECT_THAT(of_each.at(1), ElementsAre(10 * kMegabyte, 10 * kMegabyte));
  const auto of_all = sizes(ExitShares::kOfAll);
  EXPECT_THAT(of_all.at(0), ElementsAre(20 * kMegabyte));
  EXPECT_THAT(of_all.at(1), ElementsAre(20 * kMegabyte));
}

// A NIC of twice the rate that is dealt as the others sends no more than they do, and nobody hands
// it anything; at its own rate it sends two of five parts.
TEST(AssignSenders, AFastNicThatIsDealtAsTheOthersSendsNoMore) {
  Cluster cluster = UniformCluster(2, 4, 400, 50);
  cluster.nics[1].gbps = 100;
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {40 * kMegabyte});
  for (int i = 0; i < 4; ++i) builder.AddSource({Whole("w", 40 * kMegabyte)});
  for (int i = 0; i < 4; ++i) builder.AddDestination({Whole("w", 40 * kMegabyte)});
  Stages stages = MakeStages(builder.On(cluster), cluster);
  const auto sent = [&] {
    std::vector<std::int64_t> of_sources = SentByExit(stages);
    of_sources.resize(4);
    return of_sources;
  };
  EXPECT_THAT(sent(), ElementsAre(8 * kMegabyte, 16 * kMegabyte, 8 * kMegabyte, 8 * kMegabyte));
  stages.resources.dealt_gbps.assign(8, 50);
  stages.pieces =
      AssignSenders(stages.plan.demand, stages.deliveries, stages.resources, stages.bound_seconds);
  EXPECT_THAT(sent(), Each(10 * kMegabyte));
}

// 10 MB for two domains over a NIC of 50 GB/s: 0.2 ms and a relay, or 0.4 ms without.
TEST(SentDirectly, WhereTheNicHasTheTime) {
  const Cluster cluster = UniformCluster(3, 1, 0, 50);
  JobRecordsBuilder builder;
  builder.AddTensor("w", DType::kU8, {10 * kMegabyte});
  builder.AddSource({Whole("w", 10 * kMegabyte)});
  for (int i = 0; i < 2; ++i) builder.AddDestination({Whole("w", 10 * kMegabyte)});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  const std::vector<std::vector<Piece>> relayed{{{0, 0, 10 * kMegabyte, 0, 0, false}}};
  std::vector<std::vector<Piece>> direct = relayed;
  direct[0][0].star = true;
  EXPECT_EQ(SentDirectly(relayed, stages.deliveries, stages.resources, 0.39e-3), relayed);
  EXPECT_EQ(SentDirectly(relayed, stages.deliveries, stages.resources, 0.41e-3), direct);
}

// Rank 1 has no NIC. Three bytes of it, in a job whose other bytes bind elsewhere, leave by rank 0
// all the same.
TEST(AssignSenders, EvenAFewBytesWithoutANicExitElsewhere) {
  const std::vector<TestDomain> domains{{2, 400, {{{0}, 50, 0}}}, UniformDomain(1, 0, 50)};
  const Cluster cluster = MakeTestCluster(domains);
  JobRecordsBuilder builder;
  builder.AddTensor("few", DType::kU8, {3});
  builder.AddTensor("many", DType::kU8, {100 * kMegabyte});
  builder.AddSource({Whole("many", 100 * kMegabyte)});
  builder.AddSource({Whole("few", 3)});
  builder.AddDestination({Whole("few", 3), Whole("many", 100 * kMegabyte)});
  const Stages stages = MakeStages(builder.On(cluster), cluster);
  EXPECT_THAT(SentByExit(stages), ElementsAre(100 * kMegabyte + 3, 0, 0));
}

// Case C19: one holder is the only one of 200 MB, 28 MB are everybody's. Its NIC binds whatever is
// done, unless the others help: with NVLink they do, and all five are level.
TEST(AssignSenders, OneLoadedNicIsRelieved) {
  const Cluster cluster = UniformCluster(2, 5, 400, 48);
  JobRecordsBuilder builder;
  builder.AddTensor("all", DType::kU8, {28 * kMegabyte});
  builder.AddTensor("own", DType::kU8, {200 * kMegabyte});
  builder.AddSource({Whole("all", 28 * kMegabyte), Whole("own", 200 * kMegabyte)});
  for (int i = 0; i < 4; ++i) builder.AddSource({Whole("all", 28 * kMegabyte)});
  for (int i = 0; i < 5; ++i) {
    builder.AddDestination({Whole("all", 28 * kMegabyte), Whole("own", 200 * kMegabyte)});
  }
  std::vector<std::int64_t> sent = SentByExit(MakeStages(builder.On(cluster), cluster));
  sent.resize(5);
  for (const std::int64_t bytes : sent) EXPECT_NEAR(bytes, 228 * kMegabyte / 5, kMegabyte);
}

void CheckPieces(const Stages& stages) {
  const RankResources& resources = stages.resources;
  ASSERT_EQ(stages.pieces.size(), stages.deliveries.groups.size());
  for (std::size_t g = 0; g < stages.pieces.size(); ++g) {
    const DeliveryGroup& group = stages.deliveries.groups[g];
    std::map<ClassIndex, std::vector<std::pair<std::int64_t, std::int64_t>>> ranges;
    std::map<ClassIndex, std::set<RankIndex>> holders;
    for (const GroupClass& c : group.classes) {
      ranges[c.demand_class] = {};
      holders[c.demand_class] = {c.holders.begin(), c.holders.end()};
    }
    for (std::size_t i = 0; i < stages.pieces[g].size(); ++i) {
      const Piece& piece = stages.pieces[g][i];
      EXPECT_LT(piece.begin, piece.end);
      EXPECT_EQ(piece.begin % kSplitAlignmentBytes, 0);
      EXPECT_TRUE(holders.at(piece.demand_class).contains(piece.holder));
      ranges[piece.demand_class].emplace_back(piece.begin, piece.end);
      const auto exit = static_cast<std::size_t>(piece.exit);
      const auto holder = static_cast<std::size_t>(piece.holder);
      EXPECT_EQ(resources.domain[holder], resources.domain[exit]);
      if (group.local) {
        EXPECT_EQ(exit, holder);
        EXPECT_FALSE(piece.star);
      } else {
        EXPECT_GT(resources.network_gbps[exit], 0);
      }
      if (exit != holder) {
        EXPECT_GT(resources.nvlink_gbps[exit], 0);
        EXPECT_GT(resources.nvlink_gbps[holder], 0);
      }
      if (i > 0) {
        const Piece& before = stages.pieces[g][i - 1];
        EXPECT_LE(std::tie(before.star, before.exit), std::tie(piece.star, piece.exit));
      }
    }
    for (auto& [c, parts] : ranges) {  // every byte of every class once
      std::ranges::sort(parts);
      std::int64_t at = 0;
      for (const auto& [begin, end] : parts) {
        EXPECT_EQ(begin, at);
        at = end;
      }
      EXPECT_EQ(at, stages.plan.demand.classes[static_cast<std::size_t>(c)].bytes);
    }
  }
}

TEST(AssignSenders, PiecesAreEveryByteOnceFromAHolderOverAWorkingNic) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = seed % 2 == 0 ? 0 : 80;
    limits.long_factor = seed % 4 == 1 ? 10'000'019 : 4001;
    const RandomJob random = MakeRandomJob(seed, limits);
    CheckPieces(MakeStages(random.job, random.cluster));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// 4 exits with 1 MiB each, in two stripes: halves of all, then the other halves of all.
TEST(Striped, FirstPartsOfAllStandBeforeSecondParts) {
  constexpr std::int64_t kMebibyte = 1 << 20;
  std::vector<Piece> line;
  for (RankIndex r = 0; r < 4; ++r) line.push_back({0, r * kMebibyte, (r + 1) * kMebibyte, r, r});
  const std::vector<Piece> striped = Striped({line}, 2)[0];
  ASSERT_EQ(striped.size(), 8U);
  for (std::size_t i = 0; i < striped.size(); ++i) {
    EXPECT_EQ(striped[i].exit, static_cast<RankIndex>(i % 4));
    EXPECT_EQ(striped[i].begin,
              static_cast<std::int64_t>(i % 4) * kMebibyte + (i < 4 ? 0 : kMebibyte / 2));
    EXPECT_EQ(striped[i].size(), kMebibyte / 2);
  }
}

// Whatever the stripes: every byte of every exit, holder and kind as before; star pieces last.
TEST(Striped, MovesNothingElsewhere) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJobLimits limits;
    limits.long_tensors = 70;
    limits.long_factor = 100'000;
    const RandomJob random = MakeRandomJob(seed, limits);
    const Stages stages = MakeStages(random.job, random.cluster);
    const auto striped = Striped(stages.pieces, 1 + static_cast<std::int64_t>(seed % 5));
    // Joined where they touch, pieces of equal class, holder, exit and kind are the same.
    const auto joined = [](std::vector<Piece> pieces) {
      const auto key = [](const Piece& p) {
        return std::tuple(p.demand_class, p.begin, p.holder, p.exit, p.star);
      };
      std::ranges::sort(pieces, {}, key);
      std::vector<Piece> result;
      for (const Piece& piece : pieces) {
        if (!result.empty() && result.back().demand_class == piece.demand_class &&
            result.back().end == piece.begin && result.back().exit == piece.exit &&
            result.back().holder == piece.holder && result.back().star == piece.star) {
          result.back().end = piece.end;
        } else {
          result.push_back(piece);
        }
      }
      std::vector<decltype(std::tuple_cat(key(result[0]), std::tuple(std::int64_t{})))> keys;
      for (const Piece& p : result) keys.push_back(std::tuple_cat(key(p), std::tuple(p.end)));
      return keys;
    };
    ASSERT_EQ(striped.size(), stages.pieces.size());
    for (std::size_t g = 0; g < striped.size(); ++g) {
      EXPECT_EQ(joined(striped[g]), joined(stages.pieces[g]));
      EXPECT_TRUE(std::ranges::is_sorted(striped[g], {}, &Piece::star));
    }
  }
}

}  // namespace
}  // namespace reshard
