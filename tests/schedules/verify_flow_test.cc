#include <gtest/gtest.h>

#include <vector>

#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> FlowDamages() {
  return {
      {"other_column", [](Plan& p) { p.schedules[2].slots[0].items[1].column = 1; },
       "transfer 0 from rank 0 to rank 2, item 1: column 2 is sent and column 1 received"},
      {"other_round", [](Plan& p) { p.schedules[2].slots[0].items[1].first_round = 1; },
       "transfer 0 from rank 0 to rank 2, item 1: column 2 is sent from round 0 with lag 0 and "
       "received from 1"},
      {"received_twice",
       [](Plan& p) {
         // Rank 3, which holds column 1 from round 1 on, takes it to rank 4 twice.
         p.transfers.push_back(p.transfers[3]);
       },
       "item 0 of slot 0 of rank 4 is received twice"},
      {"never_sent", [](Plan& p) { p.transfers.pop_back(); },
       "rank 4, slot 0, item 0: no transfer brings it (promise 2)"},
      {"packs_what_it_lacks",
       [](Plan& p) { p.schedules[3].slots[1].items[0].origin_slot = kFromParameters; },
       "rank 3, slot 1, item 0: it is packed from parameters, but the rank does not hold class 1"},
      {"packs_from_pack_slot", [](Plan& p) { p.schedules[3].slots[1].items[0].origin_slot = 1; },
       "rank 3, slot 1, item 0: it is packed from slot 1, in which nothing is received"},
      {"packs_other_column",
       [](Plan& p) {
         p.columns.push_back({1, 0, 0, 64});
         p.schedules[3].slots[1].items[0].column = 3;
         p.schedules[4].slots[0].items[0].column = 3;
       },
       "rank 3, slot 1, item 0: it is of column 3, but packed from column 1"},
      {"unpacks_what_it_does_not_need",
       [](Plan& p) {
         p.schedules[2].slots[0].items.push_back({1, 0, kFromParameters, 0, true});
         p.schedules[2].slots[0].capacity = 80;
         p.schedules[0].slots[0].items.push_back({1, 0, kFromParameters, 0, false});
         p.schedules[0].slots[0].capacity = 96;
         p.transfers[0].source.item_count = 3;
         p.transfers[0].destination.item_count = 3;
       },
       "rank 2, slot 0, item 2: it is unpacked, but the rank does not need class 1"},
      {"moves_what_it_lacks", [](Plan& p) { p.schedules[1].local_moves[0].column = 0; },
       "rank 1, local move 0: the rank does not hold and need class 0"},
      {"not_unpacked", [](Plan& p) { p.schedules[4].slots[0].items[0].unpack = false; },
       "rank 4, class 1: bytes [0, 64) are never written (promise 1)"},
      {"move_forgotten", [](Plan& p) { p.schedules[1].local_moves.clear(); },
       "rank 1, class 2: bytes [0, 128) are never written"},
      {"move_twice",
       [](Plan& p) {
         p.schedules[1].local_moves.push_back({2, 1});
       },
       "rank 1, class 2: bytes [0, 128) are written twice"},
      {"column_short", [](Plan& p) { p.columns[2].end = 112; },
       "rank 1, class 2: bytes [112, 128) are never written"},
      {"column_late", [](Plan& p) { p.columns[1].begin = 16; },
       "rank 3, class 1: bytes [0, 16) are never written"},
  };
}

INSTANTIATE_TEST_SUITE_P(Flow, DamageTest, ::testing::ValuesIn(FlowDamages()), NameOf);

}  // namespace
}  // namespace reshard
