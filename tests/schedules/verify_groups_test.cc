#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> GroupDamages() {
  return {
      // Column 2 goes to rank 2 on its own, in the same rounds as column 0.
      {"two_in_a_round",
       [](Plan& p) {
         p.transfers[0] = {0, 2, 0, {0, 1, 1}, {0, 0, 1}};
         p.transfers.insert(p.transfers.begin() + 1, {0, 2, 0, {0, 2, 1}, {0, 1, 1}});
       },
       "transfers 0 and 1 from rank 0 to rank 2: both carry bytes in round 0 (promise 2)"},
      {"transfer_order", [](Plan& p) { std::swap(p.transfers[2], p.transfers[3]); },
       "transfer 3: transfers do not ascend by sender, receiver and first round"},
      {"operations", [](Plan& p) { p.job.options.max_ops_per_group = 1; },
       "rank 0: one of its NCCL groups has 2 operations, 1 are allowed (promise 4)"},
      {"peers", [](Plan& p) { p.job.options.max_peers = 1; },
       "rank 0: it has 2 peers, 1 are allowed (promise 5)"},
  };
}

INSTANTIATE_TEST_SUITE_P(Groups, DamageTest, ::testing::ValuesIn(GroupDamages()), NameOf);

}  // namespace
}  // namespace reshard
