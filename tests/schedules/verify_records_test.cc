#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> RecordDamages() {
  return {
      {"share", [](Plan& p) { p.job.options.nic_share = std::nan(""); },
       "nicShare is not in (0, 1]"},
      {"tensor_order", [](Plan& p) { p.job.tensors[1].name = "a"; },
       "tensor \"a\": tensors do not ascend by name"},
      {"tensor_shape",
       [](Plan& p) {
         p.job.tensors[0].shape = {8, INT64_MAX};
       },
       "tensor \"a\": its shape is negative or larger"},
      {"parameter_twice", [](Plan& p) { p.job.layouts[2].parameters[1].name = "fused"; },
       "layout 2, parameter \"fused\": two parameters have this name"},
      {"rank_order", [](Plan& p) { p.job.ranks[3].gpu = 4; }, "rank 3: ranks do not ascend by GPU"},
      {"rank_group", [](Plan& p) { p.job.ranks[2].source_group = 0; },
       "rank 2: it has a group without a layout"},
      {"set_order",
       [](Plan& p) {
         p.demand.rank_sets[1] = {2, 1};
       },
       "rank set 1: its ranks do not ascend"},
      {"nobody_holds", [](Plan& p) { p.demand.rank_sets[0].clear(); }, "class 0: nobody holds it"},
      {"shared_twice",
       [](Plan& p) {
         p.job.in_place = {{"b", "b"}, {"b", "fused"}};
       },
       "in-place parameter \"b\": it shares memory with two parameters"},
      {"profile_empty", [](Plan& p) { p.profiles[0].weights.clear(); },
       "profile 0: it has no chunk"},
      {"profile_sum", [](Plan& p) { p.profiles[0].weights[0] = UINT32_MAX; },
       "profile 0: its weights sum to more than 2^32"},
      {"column_empty", [](Plan& p) { p.columns[1].end = 0; },
       "column 1: bytes [0, 0) are none of class 1"},
      {"column_beyond", [](Plan& p) { p.columns[0].end = 73; },
       "column 0: bytes [0, 73) are none of class 0, which has 72"},
      {"slot_alignment", [](Plan& p) { p.schedules[0].slots[0].offset = 8; },
       "rank 0, slot 0: offset 8, capacity 80 or depth 2 is negative or no multiple of 16 (promise "
       "3)"},
      {"slot_depth", [](Plan& p) { p.schedules[0].slots[0].depth = 0; }, "depth 0"},
      {"item_rounds", [](Plan& p) { p.round_count = 4; },
       "rank 1, slot 0, item 0: its chunks lie outside the plan's rounds"},
      {"item_negative_round", [](Plan& p) { p.schedules[0].slots[0].items[2].first_round = -1; },
       "rank 0, slot 0, item 2: its chunks lie outside"},
      {"receive_packed", [](Plan& p) { p.schedules[3].slots[0].items[0].origin_slot = 1; },
       "rank 3, slot 0, item 0: what is received is not packed as well"},
      {"pack_unpacked", [](Plan& p) { p.schedules[3].slots[1].items[0].unpack = true; },
       "rank 3, slot 1, item 0: what is packed to be sent is not unpacked"},
      {"move_rounds", [](Plan& p) { p.schedules[1].local_moves[0].first_round = 2; },
       "rank 1, local move 0: its chunks lie outside the plan's rounds"},
      {"wait_cycle",
       [](Plan& p) {
         p.schedules[0].waits[1] = {Lane::kPack, Lane::kExchange, 0};
       },
       "rank 0, wait 1: a step waits for one that is not before it (promise 4)"},
      {"wait_future", [](Plan& p) { p.schedules[0].waits[1].lag = -1; },
       "rank 0, wait 1: a step waits for one that is not before it"},
      {"to_itself", [](Plan& p) { p.transfers[3].to = 3; }, "a rank sends to itself (promise 2)"},
      {"into_pack_slot", [](Plan& p) { p.transfers[1].destination.slot = 1; },
       "transfer 1 from rank 0 to rank 3: it arrives in a slot that is not for receiving (promise "
       "2)"},
      {"negative_lag", [](Plan& p) { p.transfers[0].lag = -1; },
       "it sends what is filled in a later"},
      {"same_round_relay", [](Plan& p) { p.transfers[2].lag = 0; },
       "transfer 2 from rank 2 to rank 1: it forwards in the round of arrival (promise 3)"},
      {"unequal_counts",
       [](Plan& p) {
         p.transfers[0].source = {0, 0, 3};
       },
       "3 items are sent and 2 received (promise 2)"},
  };
}

INSTANTIATE_TEST_SUITE_P(Records, DamageTest, ::testing::ValuesIn(RecordDamages()), NameOf);

}  // namespace
}  // namespace reshard
