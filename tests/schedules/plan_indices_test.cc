#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> IndexDamages() {
  return {
      {"layout", [](Plan& p) { p.job.ranks[2].destination_layout = 4; },
       "rank 2: there is no layout 4"},
      {"region_tensor",
       [](Plan& p) {
         EditRegion(p, 3, 0, [](Region& r, Longs&, Longs&, Longs&) { r.tensor = -1; });
       },
       "layout 3, region 0: there is no tensor -1"},
      {"region_parameter",
       [](Plan& p) {
         EditRegion(p, 2, 1, [](Region& r, Longs&, Longs&, Longs&) { r.parameter = 2; });
       },
       "layout 2, region 1: there is no parameter 2"},
      {"region_dims",
       [](Plan& p) {
         EditRegion(p, 2, 1, [](Region&, Longs& begin, Longs& extent, Longs& stride) {
           begin.push_back(0);
           extent.push_back(1);
           stride.push_back(1);
         });
       },
       "layout 2, region 1: 2 dims for the 1 of tensor \"b\""},
      {"set_rank",
       [](Plan& p) {
         p.demand.rank_sets[1] = {1, 5};
       },
       "rank set 1: there is no rank 5"},
      {"class_set", [](Plan& p) { p.demand.classes[2].needers = 4; },
       "class 2: its holders or needers"},
      {"class_fragments", [](Plan& p) { p.demand.classes[1].first_fragment = 1; },
       "class 1: its fragments do not begin at 2"},
      {"class_missing", [](Plan& p) { p.demand.classes.pop_back(); },
       "fragments: 3 of 4 belong to a class"},
      {"program_order", [](Plan& p) { std::swap(p.programs[1], p.programs[2]); },
       "programs do not ascend"},
      {"program_entries", [](Plan& p) { p.programs[1].Add(0, 0, 8, std::vector<CopyDim>{}); },
       "program of layout 0, class 1: 2 entries for 1 fragments"},
      {"program_parameter",
       [](Plan& p) {
         ReplaceProgram(p, 6, 7, 2, 8, {{8, 12}});
       },
       "program of layout 3, class 1: entry 0: there is no parameter 7"},
      {"column_class", [](Plan& p) { p.columns[1].demand_class = 3; },
       "column 1: there is no class 3"},
      {"column_profile", [](Plan& p) { p.columns[1].profile = 1; },
       "column 1: there is no profile 1"},
      {"schedule_count", [](Plan& p) { p.schedules.pop_back(); }, "schedules: 4 for 5 ranks"},
      {"item_column", [](Plan& p) { p.schedules[3].slots[1].items[0].column = 3; },
       "rank 3, slot 1, item 0: there is no column 3"},
      {"item_origin", [](Plan& p) { p.schedules[3].slots[1].items[0].origin_item = 1; },
       "rank 3, slot 1, item 0: it comes from item 1 of slot 0, which is not there"},
      {"move_column", [](Plan& p) { p.schedules[1].local_moves[0].column = -1; },
       "rank 1, local move 0: there is no column -1"},
      {"wait_lane", [](Plan& p) { p.schedules[0].waits[0].on = static_cast<Lane>(3); },
       "rank 0: a wait names a lane that is none"},
      {"transfer_rank", [](Plan& p) { p.transfers[3].to = 5; },
       "transfer 3: there is no rank 3 or 5"},
      {"transfer_slot", [](Plan& p) { p.transfers[3].destination.slot = 1; },
       "transfer 3: rank 4 has no slot 1"},
      {"transfer_items", [](Plan& p) { p.transfers[0].source.item_count = 3; },
       "transfer 0: a run of 3 items from item 1 on is not in slot 0 of rank 0"},
  };
}

INSTANTIATE_TEST_SUITE_P(Indices, DamageTest, ::testing::ValuesIn(IndexDamages()), NameOf);

}  // namespace
}  // namespace reshard
