#include "runtime/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/byte_pairs.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LoweredRank LoweredSmallPlan(RankIndex rank) { return *Lower(ExtractRankPart(SmallPlan(), rank)); }

// Rank 0 packs columns 1, 0, 2 (classes 1, 0, 2) into one slot of two instances of 80 bytes. Chunks
// of class 0 have 16, 16, 16 and 24 bytes and take 16, 16, 16 and 32 in the slot.
TEST(LoweringTest, SendsOfTheSmallPlan) {
  const LoweredRank rank = LoweredSmallPlan(0);
  ASSERT_EQ(rank.rounds.size(), 5u);
  // Transfer 0 -> 2 carries the items of columns 0 and 2, after the 16 bytes of column 1.
  EXPECT_THAT(rank.rounds[0].sends,
              ElementsAre(ExchangeOperation{2, 16, 48}, ExchangeOperation{3, 0, 16}));
  EXPECT_THAT(rank.rounds[1].sends,
              ElementsAre(ExchangeOperation{2, 80 + 16, 48}, ExchangeOperation{3, 80, 16}));
  EXPECT_THAT(rank.rounds[3].sends,
              ElementsAre(ExchangeOperation{2, 80 + 16, 64}, ExchangeOperation{3, 80, 16}));
  EXPECT_THAT(rank.rounds[4].sends, IsEmpty());
  EXPECT_THAT(rank.rounds[0].receives, IsEmpty());
  EXPECT_EQ(rank.base_bytes, (std::vector<std::int64_t>{160, 128, 128, 8}));
}

// Rank 2 receives into instances of 64 bytes and relays column 0 one round later, out of the
// instance of the round before.
TEST(LoweringTest, RelayOfTheSmallPlan) {
  const LoweredRank rank = LoweredSmallPlan(2);
  EXPECT_THAT(rank.rounds[0].sends, IsEmpty());
  EXPECT_THAT(rank.rounds[0].receives, ElementsAre(ExchangeOperation{0, 0, 48}));
  EXPECT_THAT(rank.rounds[1].sends, ElementsAre(ExchangeOperation{1, 0, 16}));
  EXPECT_THAT(rank.rounds[1].receives, ElementsAre(ExchangeOperation{0, 64, 48}));
  EXPECT_THAT(rank.rounds[4].sends, ElementsAre(ExchangeOperation{1, 64, 32}));
  EXPECT_THAT(rank.rounds[4].receives, IsEmpty());
}

// Rank 3 packs what it received in round r - 1 (slot at 64) into its pack slot (at 0) in round r.
TEST(LoweringTest, RepackedRelayOfTheSmallPlan) {
  const LoweredRank rank = LoweredSmallPlan(3);
  EXPECT_TRUE(rank.rounds[0].pack.empty());
  for (RoundIndex round = 1; round < 5; ++round) {
    std::multiset<BytePair> expected;
    for (std::int64_t b = 0; b < 16; ++b) {
      const ByteAddress received = {0, 64 + 16 * ((round - 1) % 2) + b};
      const ByteAddress packed = {0, 16 * (round % 2) + b};
      expected.insert(BytePair{received, packed});
    }
    EXPECT_EQ(ExpandCopies(rank.rounds[static_cast<std::size_t>(round)].pack), expected) << round;
  }
}

// Byte addresses of each class in the layout of one side of a rank, from regions and fragments.
std::map<ClassIndex, std::vector<ByteAddress>> StreamBytes(const Plan& plan, LayoutIndex layout,
                                                           BaseIndex first_base) {
  std::map<ClassIndex, std::vector<ByteAddress>> streams;
  if (layout == kNoLayout) return streams;
  const RegionTable& regions = plan.job.layouts[static_cast<std::size_t>(layout)].regions;
  for (std::size_t c = 0; c < plan.demand.classes.size(); ++c) {
    const DemandClass& demand_class = plan.demand.classes[c];
    std::vector<ByteAddress>& stream = streams[static_cast<ClassIndex>(c)];
    for (std::int64_t f = 0; f < demand_class.fragment_count; ++f) {
      const Fragment fragment = plan.demand.fragments[demand_class.first_fragment + f];
      for (std::int64_t i = 0; i < regions.size(); ++i) {
        const Region region = regions[i];
        bool contains = region.tensor == fragment.tensor;
        for (std::size_t d = 0; contains && d < region.begin.size(); ++d) {
          contains = region.begin[d] <= fragment.begin[d] &&
                     fragment.begin[d] + fragment.extent[d] <= region.begin[d] + region.extent[d];
        }
        if (!contains) continue;
        const Tensor& tensor = plan.job.tensors[static_cast<std::size_t>(fragment.tensor)];
        const std::vector<ByteAddress> some =
            FragmentBytes(fragment, region, ElementBytes(tensor.dtype), first_base);
        stream.insert(stream.end(), some.begin(), some.end());
        break;
      }
    }
  }
  return streams;
}

// Every pack, unpack and move of every rank and round, spelt out from the plan's definitions.
TEST(LoweringTest, TablesOfTheSmallPlanByteByByte) {
  const Plan plan = SmallPlan();
  for (RankIndex rank = 0; rank < 5; ++rank) {
    const RankPart part = ExtractRankPart(plan, rank);
    const LoweredRank lowered = *Lower(part);
    const auto first_destination = static_cast<BaseIndex>(1 + part.source_parameters.size());
    const auto sources = StreamBytes(plan, part.record.source_layout, 1);
    const auto destinations = StreamBytes(plan, part.record.destination_layout, first_destination);
    for (RoundIndex round = 0; round < plan.round_count; ++round) {
      std::multiset<BytePair> packed;
      std::multiset<BytePair> unpacked;
      const RankSchedule& schedule = plan.schedules[static_cast<std::size_t>(rank)];
      for (const Slot& slot : schedule.slots) {
        const std::vector<ItemPlacement> placements =
            PlaceItems(slot, round, plan.columns, plan.profiles);
        for (std::size_t i = 0; i < slot.items.size(); ++i) {
          const SlotItem& item = slot.items[i];
          const ClassIndex demand_class =
              plan.columns[static_cast<std::size_t>(item.column)].demand_class;
          for (std::int64_t b = 0; b < placements[i].bytes.size(); ++b) {
            const ByteAddress staging = {
                0, slot.offset + slot.capacity * (round % slot.depth) + placements[i].offset + b};
            const auto position = static_cast<std::size_t>(placements[i].bytes.begin + b);
            if (slot.kind == SlotKind::kPack && item.origin_slot == kFromParameters) {
              packed.insert({sources.at(demand_class)[position], staging});
            } else if (slot.kind == SlotKind::kReceive && item.unpack) {
              unpacked.insert({staging, destinations.at(demand_class)[position]});
            }
          }
        }
      }
      for (const LocalMove& move : schedule.local_moves) {
        const Column& column = plan.columns[static_cast<std::size_t>(move.column)];
        const ByteRange bytes =
            ChunkRange(column, plan.profiles[static_cast<std::size_t>(column.profile)],
                       round - move.first_round);
        for (std::int64_t b = bytes.begin; b < bytes.end; ++b) {
          const auto position = static_cast<std::size_t>(b);
          unpacked.insert({sources.at(column.demand_class)[position],
                           destinations.at(column.demand_class)[position]});
        }
      }
      const LoweredRound& actual = lowered.rounds[static_cast<std::size_t>(round)];
      // What rank 3 packs comes from staging; RepackedRelayOfTheSmallPlan has it.
      if (rank != 3) {
        EXPECT_EQ(ExpandCopies(actual.pack), packed) << rank << " " << round;
      }
      EXPECT_EQ(ExpandCopies(actual.unpack), unpacked) << rank << " " << round;
    }
  }
}

// Both ends of every transfer agree, round by round.
TEST(LoweringTest, EverySendHasItsReceive) {
  const Plan plan = SmallPlan();
  std::map<std::tuple<RoundIndex, RankIndex, RankIndex>, std::int64_t> sent;
  std::map<std::tuple<RoundIndex, RankIndex, RankIndex>, std::int64_t> received;
  for (RankIndex rank = 0; rank < 5; ++rank) {
    const LoweredRank lowered = LoweredSmallPlan(rank);
    for (RoundIndex round = 0; round < 5; ++round) {
      for (const ExchangeOperation& send : lowered.rounds[static_cast<std::size_t>(round)].sends) {
        sent[{round, rank, send.peer}] = send.bytes;
      }
      for (const ExchangeOperation& receive :
           lowered.rounds[static_cast<std::size_t>(round)].receives) {
        received[{round, receive.peer, rank}] = receive.bytes;
      }
    }
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(sent.size(), 4u * 4u);
}

class DamagedPartTest : public ::testing::Test {
 protected:
  static std::string Reason(const RankPart& part) {
    const Result<LoweredRank> lowered = Lower(part);
    if (lowered) return "lowered";
    EXPECT_EQ(lowered.error().fault, Fault::kInput);
    return lowered.error().reason;
  }
  RankPart source_ = ExtractRankPart(SmallPlan(), 0);
  RankPart relay_ = ExtractRankPart(SmallPlan(), 3);
  RankPart needer_ = ExtractRankPart(SmallPlan(), 2);
};

TEST_F(DamagedPartTest, WholePartsLower) {
  EXPECT_EQ(Reason(source_), "lowered");
  EXPECT_EQ(Reason(relay_), "lowered");
  EXPECT_EQ(Reason(needer_), "lowered");
}

TEST_F(DamagedPartTest, RefusesASlotOutsideOfStaging) {
  source_.staging_bytes = 159;
  EXPECT_THAT(Reason(source_), HasSubstr("a slot outside of its staging"));
}

TEST_F(DamagedPartTest, RefusesASlotThatIsTooSmall) {
  source_.schedule.slots[0].capacity = 64;
  EXPECT_THAT(Reason(source_), HasSubstr("too small for round 3"));
}

TEST_F(DamagedPartTest, RefusesAMissingProgram) {
  source_.source_programs.pop_back();
  EXPECT_THAT(Reason(source_), HasSubstr("bytes it does not hold"));
  needer_.destination_programs.erase(needer_.destination_programs.begin());
  EXPECT_THAT(Reason(needer_), HasSubstr("bytes it does not need"));
}

TEST_F(DamagedPartTest, RefusesAColumnBeyondItsClass) {
  source_.columns[0].end += 16;
  EXPECT_THAT(Reason(source_), HasSubstr("bytes it does not hold"));
}

TEST_F(DamagedPartTest, RefusesACopyOutsideOfItsParameter) {
  source_.source_parameters[1].shape = {31};
  EXPECT_THAT(Reason(source_), HasSubstr("reads outside of buffer 2"));
}

TEST_F(DamagedPartTest, RefusesReferencesToNothing) {
  RankPart part = source_;
  part.schedule.slots[0].items[0].column = 3;
  EXPECT_THAT(Reason(part), HasSubstr("an item of a column it does not have"));
  part = source_;
  part.columns[0].profile = 1;
  EXPECT_THAT(Reason(part), HasSubstr("a column that is no range of a class"));
  part = source_;
  part.profiles[0].weights.push_back(~0u);
  EXPECT_THAT(Reason(part), HasSubstr("a column that is no range of a class"));
  part = source_;
  part.sends[0].peer = 5;
  EXPECT_THAT(Reason(part), HasSubstr("no peer"));
  part = source_;
  part.sends[0].run.item_count = 3;
  EXPECT_THAT(Reason(part), HasSubstr("a transfer of items it does not have"));
  part = relay_;
  part.schedule.slots[1].items[0].origin_item = 1;
  EXPECT_THAT(Reason(part), HasSubstr("origin is of another column"));
  part = relay_;
  part.schedule.slots[1].items[0].origin_slot = 2;
  EXPECT_THAT(Reason(part), HasSubstr("origin slot that does not exist"));
  part = relay_;
  part.round_count = 4;
  EXPECT_THAT(Reason(part), HasSubstr("leaves the rounds"));
  part = relay_;
  part.schedule.waits[0].lag = -1;
  EXPECT_THAT(Reason(part), HasSubstr("a wait on no earlier step"));
}

}  // namespace
}  // namespace reshard
