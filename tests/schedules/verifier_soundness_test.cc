// What the verifier accepts must replay right in every order; what it need not accept is not tested
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "schedules/verifier.h"
#include "tests/schedules/interleaved_replay.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

// Changes a plan at random: mostly small numbers, as a planner's mistakes would be.
class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  void Mutate(Plan& plan) {
    switch (Pick(12)) {
      case 0:
        return MutateSlot(plan);
      case 1:
      case 2:
        return MutateItem(plan);
      case 3:
        return MutateTransfer(plan);
      case 4:
      case 5:
        return MutateWait(plan);
      case 6:
        return MutateMove(plan);
      case 7:
        return MutateColumn(plan);
      case 8:
        return MutateProfile(plan);
      case 9:
        return MutateProgram(plan);
      case 10:
        return MutateInPlace(plan);
      default:
        return ShiftSlot(plan);
    }
  }

  std::uint32_t Seed() { return static_cast<std::uint32_t>(random_()); }

 private:
  int Pick(std::size_t count) { return static_cast<int>(random_() % count); }
  int Step() { return Pick(2) == 0 ? -1 : 1; }
  template <typename T>
  T* Any(std::vector<T>& values) {
    return values.empty() ? nullptr : &values[random_() % values.size()];
  }

  void MutateSlot(Plan& plan) {
    Slot* slot = Any(Any(plan.schedules)->slots);
    if (slot == nullptr) return;
    const int what = Pick(3);
    if (what == 0) slot->depth += Step();
    if (what == 1) slot->capacity += 16 * Step();
    if (what == 2) slot->offset += 16 * Step();
  }

  void MutateItem(Plan& plan) {
    Slot* slot = Any(Any(plan.schedules)->slots);
    SlotItem* item = slot == nullptr ? nullptr : Any(slot->items);
    if (item == nullptr) return;
    const int what = Pick(4);
    if (what == 0) item->first_round += Step();
    if (what == 1) item->column = Pick(plan.columns.size());
    if (what == 2) item->unpack = !item->unpack;
    if (what == 3) item->origin_slot = Pick(3) - 1;
  }

  void MutateTransfer(Plan& plan) {
    Transfer* transfer = Any(plan.transfers);
    if (transfer == nullptr) return;
    switch (Pick(5)) {
      case 0:
        transfer->lag += Step();
        break;
      case 1:
        transfer->source.first_item += Step();
        break;
      case 2:
        transfer->source.item_count += Step();
        break;
      case 3:
        transfer->to = Pick(plan.job.ranks.size());
        break;
      default:
        plan.transfers.erase(plan.transfers.begin() + (transfer - plan.transfers.data()));
    }
  }

  void MutateWait(Plan& plan) {
    RankSchedule* schedule = Any(plan.schedules);
    Wait* wait = Any(schedule->waits);
    const int what = Pick(4);
    if (what == 0) {
      const auto lane = static_cast<Lane>(Pick(3));
      schedule->waits.push_back({lane, static_cast<Lane>(Pick(3)), Pick(3)});
    }
    if (wait == nullptr) return;
    if (what == 1) wait->lag += Step();
    if (what == 2) wait->on = static_cast<Lane>(Pick(3));
    if (what == 3) schedule->waits.erase(schedule->waits.begin() + (wait - schedule->waits.data()));
  }

  void MutateMove(Plan& plan) {
    RankSchedule& schedule = plan.schedules[1];
    if (!schedule.local_moves.empty() && Pick(2) == 0) {
      schedule.local_moves[0].first_round += Step();
    } else {
      schedule.local_moves.push_back({Pick(plan.columns.size()), Pick(2)});
    }
  }

  void MutateColumn(Plan& plan) {
    Column* column = Any(plan.columns);
    if (Pick(2) == 0) {
      column->end += 8 * Step();
    } else {
      column->profile = Pick(plan.profiles.size());
    }
  }

  void MutateProfile(Plan& plan) {
    const std::uint32_t eighth = std::uint32_t{1} << 29U;
    const int chunks = 1 + Pick(5);
    Profile profile;
    std::uint32_t left = 8;
    for (int k = 0; k < chunks; ++k) {
      const auto share = static_cast<std::uint32_t>(Pick(left + 1));
      profile.weights.push_back(std::min(share, std::uint32_t{7}) * eighth);
      left -= std::min(share, std::uint32_t{7});
    }
    if (Pick(2) == 0) {
      plan.profiles.push_back(profile);
      Any(plan.columns)->profile = static_cast<ProfileIndex>(plan.profiles.size()) - 1;
    } else {
      *Any(plan.profiles) = profile;
    }
    plan.round_count += Pick(2);
    if (Pick(2) == 0) GrowSlots(plan);
  }

  // Room for any chunks, so that other profiles have a chance.
  void GrowSlots(Plan& plan) {
    for (RankSchedule& schedule : plan.schedules) {
      std::int64_t offset = 0;
      for (Slot& slot : schedule.slots) {
        slot.offset = offset;
        slot.capacity = 288;
        offset += slot.capacity * slot.depth;
      }
    }
  }

  void MutateProgram(Plan& plan) {
    CopyProgram* program = Any(plan.programs);
    CopyProgram changed;
    changed.layout = program->layout;
    changed.demand_class = program->demand_class;
    const int index = Pick(static_cast<std::size_t>(program->size()));
    for (std::int64_t i = 0; i < program->size(); ++i) {
      const CopyEntry entry = (*program)[i];
      std::vector<CopyDim> dims(entry.dims.begin(), entry.dims.end());
      std::int64_t offset = entry.offset;
      std::int64_t run = entry.run;
      if (i == index) {
        const int what = Pick(3);
        if (what == 0) offset += 4 * Step();
        if (what == 1 && run % 2 == 0) {
          // The same map or another one, split in two.
          dims.push_back({2, run / 2 + (Pick(2) == 0 ? 0 : Step())});
          run /= 2;
        }
        if (what == 2 && !dims.empty()) dims[0].stride += 4 * Step();
      }
      changed.Add(entry.parameter, offset, run, dims);
    }
    *program = changed;
  }

  void MutateInPlace(Plan& plan) {
    const char* const destinations[] = {"b", "fused", "a.right"};
    plan.job.in_place = {{"b", destinations[Pick(3)]}};
  }

  // A slot of a rank is used one round later or earlier, with all that fills and reads it.
  void ShiftSlot(Plan& plan) {
    const int rank = Pick(plan.schedules.size());
    RankSchedule& schedule = plan.schedules[static_cast<std::size_t>(rank)];
    Slot* slot = Any(schedule.slots);
    if (slot == nullptr) return;
    const auto index = static_cast<SlotIndex>(slot - schedule.slots.data());
    const int step = Step();
    for (SlotItem& item : slot->items) item.first_round += step;
    for (Transfer& transfer : plan.transfers) {
      if (transfer.from == rank && transfer.source.slot == index) transfer.lag -= step;
      if (transfer.to == rank && transfer.destination.slot == index) transfer.lag += step;
    }
    if (Pick(2) == 0) ++plan.round_count;
    if (Pick(2) == 0) GrowSlots(plan);
    if (Pick(2) == 0) ++slot->depth;
  }

  std::mt19937 random_;
};

TEST(VerifierSoundnessTest, TheSmallPlansReplayRight) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(ReplayInterleaved(SmallPlan(), seed), "");
    EXPECT_EQ(ReplayInterleaved(SmallInPlacePlan(), seed), "");
  }
}

// The oracle must see what the verifier is about, or the test below says nothing.
TEST(VerifierSoundnessTest, TheOracleSeesMissingWaits) {
  const auto goes_wrong = [](const Plan& plan) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
      if (!ReplayInterleaved(plan, seed).empty()) return true;
    }
    return false;
  };
  for (std::size_t rank = 0; rank < 5; ++rank) {
    for (std::size_t wait = 0; wait < SmallPlan().schedules[rank].waits.size(); ++wait) {
      Plan plan = SmallPlan();
      plan.schedules[rank].waits.erase(plan.schedules[rank].waits.begin() +
                                       static_cast<std::ptrdiff_t>(wait));
      // Rank 3's waits on its own exchange are implied by packing's.
      if (Verify(plan).has_value()) continue;
      EXPECT_TRUE(goes_wrong(plan)) << "rank " << rank << ", wait " << wait;
    }
  }
}

TEST(VerifierSoundnessTest, WhateverIsAcceptedReplaysRightInManyOrders) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Mutator mutator(seed);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Plan plan = trial % 4 == 0 ? SmallInPlacePlan() : SmallPlan();
    const Plan original = plan;
    for (int i = 0; i <= trial % 3; ++i) mutator.Mutate(plan);
    if (plan == original || !Verify(plan).has_value()) continue;
    ++accepted;
    for (int order = 0; order < 6; ++order) {
      const std::uint32_t order_seed = mutator.Seed();
      ASSERT_EQ(ReplayInterleaved(plan, order_seed), "")
          << "trial " << trial << ", order " << order_seed;
    }
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace reshard
