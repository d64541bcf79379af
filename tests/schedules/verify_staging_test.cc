#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> StagingDamages() {
  return {
      {"capacity", [](Plan& p) { p.schedules[0].slots[0].capacity = 64; },
       "rank 0, slot 0: a round puts 80 bytes into its capacity of 64 (promise 3)"},
      {"limit", [](Plan& p) { p.job.options.staging_bytes = 159; },
       "rank 0, slot 0: 2 instances of 80 bytes from byte 0 on exceed the 159 bytes of staging "
       "that "
       "the job allows (promise 5)"},
      {"huge_depth", [](Plan& p) { p.schedules[0].slots[0].depth = INT32_MAX; },
       "exceed the 4096 bytes of staging"},
      {"slots_overlap", [](Plan& p) { p.schedules[3].slots[0].offset = 16; },
       "rank 3: slots 0 and 1 overlap in staging"},
      {"send_before_pack",
       [](Plan& p) { p.schedules[0].waits.erase(p.schedules[0].waits.begin()); },
       "rank 0, slot 0, item 1: step r + 0 of the exchange lane reads what step r of the pack lane "
       "fills, but does not wait for it"},
      {"pack_over_unsent", [](Plan& p) { p.schedules[0].waits.pop_back(); },
       "rank 0, slot 0, item 1: step r + 2 of the pack lane overwrites what step r + 0 of the "
       "exchange "
       "lane reads, but does not wait for it"},
      {"pack_over_unsent_by_one", [](Plan& p) { p.schedules[0].waits[1].lag = 3; },
       "step r + 2 of the pack lane overwrites what step r + 0 of the exchange lane reads"},
      {"unpack_before_arrival", [](Plan& p) { p.schedules[4].waits[0].lag = 1; },
       "rank 4, slot 0, item 0: step r + 0 of the unpack lane reads what step r of the exchange "
       "lane "
       "fills"},
      {"receive_over_unread", [](Plan& p) { p.schedules[4].waits.pop_back(); },
       "rank 4, slot 0, item 0: step r + 2 of the exchange lane overwrites what step r + 0 of the "
       "unpack lane reads"},
      // With one instance the relay of round r + 1 would send what round r + 1 brings.
      {"relay_depth",
       [](Plan& p) {
         p.schedules[2].slots[0].depth = 1;
         p.schedules[2].waits[1].lag = 1;
       },
       "rank 2, slot 0, item 0: step r + 1 of the exchange lane overwrites what step r + 1 of the "
       "exchange lane reads"},
      {"pack_before_arrival",
       [](Plan& p) { p.schedules[3].waits.erase(p.schedules[3].waits.begin() + 2); },
       "rank 3, slot 0, item 0: step r + 1 of the pack lane reads what step r of the exchange lane "
       "fills"},
      {"packed_in_round_of_arrival",
       [](Plan& p) {
         p.schedules[3].slots[1].items[0].first_round = 0;
         p.schedules[4].slots[0].items[0].first_round = 0;
       },
       "rank 3, slot 0, item 0: step r + 0 of the pack lane reads what step r of the exchange lane "
       "fills"},
  };
}

INSTANTIATE_TEST_SUITE_P(Staging, DamageTest, ::testing::ValuesIn(StagingDamages()), NameOf);

}  // namespace
}  // namespace reshard
