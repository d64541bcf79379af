#include "simulator/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <random>
#include <string>

#include "sample_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::int64_t BytesAt(const Workload& work, const SegmentRange& range, RoundIndex round) {
  std::int64_t bytes = 0;
  for (const Segment& segment : work.Of(range)) {
    if (segment.first_round <= round) bytes = segment.bytes;
  }
  return bytes;
}

// 1024 bytes in weights 1/2, 1/4 and the rest, from round 5, sent a round later.
TEST(WorkloadTest, AmountsAreSegmentsOfEqualBytes) {
  SamplePlan sample(SampleCluster(2, 1));
  sample.Send(0, 1, 1024, 5, 1, true, true);
  const std::uint32_t quarter = std::uint32_t{1} << 30;
  sample.plan.profiles[0].weights = {2 * quarter, quarter, quarter};
  sample.plan.transfers[0].lag = 1;
  const Result<Workload> work = MakeWorkload(sample.plan);
  ASSERT_TRUE(work) << ToString(work.error());
  const auto bytes_are = [&](const SegmentRange& range, std::vector<Segment> expected) {
    const std::span<const Segment> segments = work->Of(range);
    EXPECT_EQ(std::vector<Segment>(segments.begin(), segments.end()), expected);
  };
  bytes_are(work->transfers[0], {{6, 512}, {7, 256}, {9, 0}});
  bytes_are(work->pack[0], {{5, 512}, {6, 256}, {8, 0}});
  bytes_are(work->pack[1], {});
  bytes_are(work->unpack[1], {{5, 512}, {6, 256}, {8, 0}});
  EXPECT_EQ(*TotalBytes(work->Of(work->transfers[0])), 1024);
  EXPECT_EQ(*TotalBytes({}), 0);
}

// The amounts of random plans against the plan's own definition, round by round.
TEST(WorkloadTest, AgreesWithThePlanRoundByRound) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    Plan plan;
    plan.job.ranks.resize(2);
    plan.job.ranks[1].gpu = 1;
    plan.schedules.resize(2);
    for (int p = 0; p < 3; ++p) {
      Profile& profile = plan.profiles.emplace_back();
      const std::int64_t chunks = 1 + below(9);
      const std::uint64_t share = (std::uint64_t{1} << 32) / static_cast<std::uint64_t>(chunks);
      auto weight = static_cast<std::uint32_t>(share - static_cast<std::uint64_t>(below(9)));
      for (std::int64_t k = 0; k < chunks; ++k) {
        if (below(3) == 0) weight = static_cast<std::uint32_t>(weight / (1 + below(3)));
        profile.weights.push_back(weight);
      }
    }
    for (int c = 0; c < 12; ++c) {
      const std::int64_t begin = below(1000);
      const std::int64_t bytes = c == 0 ? 0 : below(std::uint64_t{1} << (4 + c * 5));
      plan.columns.push_back({0, static_cast<ProfileIndex>(below(3)), begin, begin + bytes});
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (int s = 0; s < 4; ++s) {
        Slot& slot = plan.schedules[rank].slots.emplace_back();
        slot.kind = below(2) == 0 ? SlotKind::kPack : SlotKind::kReceive;
        const std::int64_t items = 1 + below(5);
        for (std::int64_t i = 0; i < items; ++i) {
          slot.items.push_back({static_cast<ColumnIndex>(below(12)),
                                static_cast<RoundIndex>(below(6)), kFromParameters, 0,
                                slot.kind == SlotKind::kReceive && below(2) == 0});
        }
      }
      plan.schedules[rank].local_moves.push_back(
          {static_cast<ColumnIndex>(below(12)), static_cast<RoundIndex>(below(6))});
    }
    for (int t = 0; t < 6; ++t) {
      Transfer transfer;
      transfer.from = static_cast<RankIndex>(below(2));
      transfer.to = 1 - transfer.from;
      transfer.lag = static_cast<std::int32_t>(below(3));
      transfer.source.slot = static_cast<SlotIndex>(below(4));
      const auto size = plan.schedules[static_cast<std::size_t>(transfer.from)]
                            .slots[static_cast<std::size_t>(transfer.source.slot)]
                            .items.size();
      transfer.source.first_item = static_cast<std::int32_t>(below(size));
      transfer.source.item_count =
          static_cast<std::int32_t>(below(size - transfer.source.first_item + 1));
      plan.transfers.push_back(transfer);
    }
    const Result<Workload> work = MakeWorkload(plan);
    ASSERT_TRUE(work) << ToString(work.error());

    const auto chunk_bytes = [&](ColumnIndex index, std::int64_t chunk) {
      const Column& column = plan.columns[static_cast<std::size_t>(index)];
      return ChunkRange(column, plan.profiles[static_cast<std::size_t>(column.profile)], chunk)
          .size();
    };
    for (RoundIndex round = 0; round < 20; ++round) {
      for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
        const Transfer& transfer = plan.transfers[t];
        const Slot& slot = plan.schedules[static_cast<std::size_t>(transfer.from)]
                               .slots[static_cast<std::size_t>(transfer.source.slot)];
        EXPECT_EQ(
            BytesAt(*work, work->transfers[t], round),
            RunBytes(slot, transfer.source, round - transfer.lag, plan.columns, plan.profiles));
      }
      for (std::size_t rank = 0; rank < 2; ++rank) {
        std::int64_t pack = 0;
        std::int64_t unpack = 0;
        for (const Slot& slot : plan.schedules[rank].slots) {
          for (const SlotItem& item : slot.items) {
            const std::int64_t bytes = chunk_bytes(item.column, round - item.first_round);
            if (slot.kind == SlotKind::kPack) pack += bytes;
            if (item.unpack) unpack += bytes;
          }
        }
        for (const LocalMove& move : plan.schedules[rank].local_moves) {
          unpack += chunk_bytes(move.column, round - move.first_round);
        }
        EXPECT_EQ(BytesAt(*work, work->pack[rank], round), pack);
        EXPECT_EQ(BytesAt(*work, work->unpack[rank], round), unpack);
      }
    }
  }
}

struct Damage {
  const char* name;
  std::function<void(Plan&)> apply;
  const char* place;
  const char* reason;
};

TEST(WorkloadTest, DamagedPlansAreErrors) {
  const std::vector<Damage> damages = {
      {"schedules", [](Plan& p) { p.schedules.pop_back(); }, "plan: schedules",
       "1 schedules for 2"},
      {"profile", [](Plan& p) { p.columns[0].profile = 1; }, "plan: column 0", "no profile 1"},
      {"bytes", [](Plan& p) { p.columns[0].begin = 2000; }, "plan: column 0", "end before"},
      {"length", [](Plan& p) { p.columns[0].end = std::numeric_limits<std::int64_t>::max(); },
       "plan: column 0", "2^62"},
      {"weights", [](Plan& p) { p.profiles[0].weights.assign(3, 0xffffffffU); }, "plan: column 0",
       "2^32"},
      {"column", [](Plan& p) { p.schedules[0].slots[0].items[0].column = 9; },
       "plan: rank 0, slot 0", "no column 9"},
      {"round", [](Plan& p) { p.schedules[0].slots[0].items[0].first_round = -1; },
       "plan: rank 0, slot 0", "first round is -1"},
      {"far round", [](Plan& p) { p.schedules[0].slots[0].items[0].first_round = 1 << 25; },
       "plan: rank 0, slot 0", "first round is 33554432"},
      {"move",
       [](Plan& p) {
         p.schedules[1].local_moves.push_back({-1, 0});
       },
       "plan: rank 1, local move", "no column -1"},
      {"wait",
       [](Plan& p) {
         p.schedules[1].waits.push_back({Lane::kPack, Lane::kUnpack, -1});
       },
       "plan: rank 1, wait 0", "negative"},
      {"lane",
       [](Plan& p) {
         p.schedules[1].waits.push_back({static_cast<Lane>(7), Lane::kPack, 0});
       },
       "plan: rank 1, wait 0", "no lane"},
      {"from", [](Plan& p) { p.transfers[0].from = -1; }, "plan: transfer 0", "no rank -1"},
      {"to", [](Plan& p) { p.transfers[0].to = 2; }, "plan: transfer 0", "no rank 2"},
      {"itself", [](Plan& p) { p.transfers[0].to = 0; }, "plan: transfer 0", "itself"},
      {"slot", [](Plan& p) { p.transfers[0].source.slot = 1; }, "plan: transfer 0", "no slot 1"},
      {"items", [](Plan& p) { p.transfers[0].source.item_count = 2; }, "plan: transfer 0",
       "outside"},
      {"lag", [](Plan& p) { p.transfers[0].lag = -1; }, "plan: transfer 0", "lag is -1"},
  };
  for (const Damage& damage : damages) {
    SamplePlan sample(SampleCluster(2, 1));
    sample.Send(0, 1, 1024, 0, 1, true);
    ASSERT_TRUE(MakeWorkload(sample.plan));
    damage.apply(sample.plan);
    const Result<Workload> work = MakeWorkload(sample.plan);
    ASSERT_FALSE(work) << damage.name;
    EXPECT_EQ(work.error().fault, Fault::kInput);
    EXPECT_EQ(work.error().place, damage.place) << damage.name;
    EXPECT_THAT(work.error().reason, HasSubstr(damage.reason)) << damage.name;
  }
}

// Rank 1 writes what it receives at two places, and 40 bytes of zeros, which count half, in round
// 0.
TEST(WorkloadTest, PlacesCountEachAndZerosHalf) {
  SamplePlan sample(SampleCluster(2, 1));
  sample.Send(0, 1, 1024, 0, 1, true, true);
  const Result<Workload> once = MakeWorkload(sample.plan);
  ASSERT_TRUE(once);
  Plan& plan = sample.plan;
  plan.job.ranks[1].destination_layout = 0;
  plan.programs.resize(3);
  for (CopyProgram& program : plan.programs) program.layout = 0;
  plan.programs[0].demand_class = kZeroClass;
  plan.programs[0].Add(0, 0, 8, std::vector<CopyDim>{{5, 16}});
  const Result<Workload> twice = MakeWorkload(plan);
  ASSERT_TRUE(twice);
  plan.schedules[1].zero_round = 0;
  const Result<Workload> zeros = MakeWorkload(plan);
  ASSERT_TRUE(zeros);
  std::int64_t total = 0;
  for (RoundIndex round = 0; round < plan.round_count + 1; ++round) {
    const std::int64_t bytes = BytesAt(*once, once->unpack[1], round);
    total += bytes;
    EXPECT_EQ(BytesAt(*twice, twice->unpack[1], round), 2 * bytes);
    EXPECT_EQ(BytesAt(*twice, twice->pack[0], round), BytesAt(*once, once->pack[0], round));
    EXPECT_EQ(BytesAt(*zeros, zeros->unpack[1], round), 2 * bytes + (round == 0 ? 20 : 0));
  }
  EXPECT_EQ(total, 1024);
}

// Two F32 scales of two rows of 512 elements in BF16: 8 bytes, for which 2048 are read, 255 more a
// byte, which count half. A block that reaches beyond its tensor reads no more than is there.
TEST(WorkloadTest, ScalesReadTheirBlocks) {
  for (const std::int64_t columns : {std::int64_t{512}, std::int64_t{1} << 62}) {
    SamplePlan sample(SampleCluster(2, 1));
    sample.Send(0, 1, 1024, 0, 1, true, true);
    Plan& plan = sample.plan;
    plan.job.ranks[0].source_layout = 0;
    RankLayout& layout = plan.job.layouts.emplace_back();
    layout.parameters = {{"w", DType::kBF16, {2, 512}}, {"scales", DType::kF32, {2, 1}}};
    layout.conversions = {
        {1, 0, ConversionKind::kBlockScales, 0, {2, 512}, {512, 1}, {1, columns}}};
    plan.programs.resize(1);
    plan.programs[0].layout = 0;
    plan.programs[0].Add(1, 0, 8, {});
    const Result<Workload> work = MakeWorkload(plan);
    ASSERT_TRUE(work) << ToString(work.error());
    EXPECT_EQ(BytesAt(*work, work->pack[0], 0), 1024 + 1024 * 255 / 2);
  }
}

TEST(WorkloadTest, AnAmountBeyond63BitsIsAnError) {
  SamplePlan sample(SampleCluster(2, 1));
  sample.Send(0, 1, std::int64_t{1} << 62, 0, 1, true);
  std::vector<SlotItem>& items = sample.plan.schedules[0].slots[0].items;
  items.push_back(items[0]);
  const Result<Workload> work = MakeWorkload(sample.plan);
  ASSERT_FALSE(work);
  EXPECT_THAT(work.error().reason, HasSubstr("2^63"));
}

}  // namespace
}  // namespace reshard
