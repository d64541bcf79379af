#include "schedules/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "foundation/digest.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

std::string VerdictOn(const Plan& plan) {
  const auto report = Verify(plan);
  return report ? "accepted" : ToString(report.error());
}

TEST(VerifierTest, ASoundPlanIsAcceptedWithItsMaxima) {
  const auto report = Verify(SmallPlan());
  ASSERT_TRUE(report.has_value()) << ToString(report.error());
  // Rank 0 has two instances of 80 bytes, rank 2 two of 64.
  EXPECT_EQ(report->staging_bytes_max, 160);
  EXPECT_EQ(report->staging_rank, 0);
  // Rank 0 sends to 2 and 3; rank 2 receives from 0 and sends to 1; rank 3 likewise.
  EXPECT_EQ(report->ops_per_group_max, 2);
  EXPECT_EQ(report->peers_max, 2);
  // Between domains: 72 + 128 to rank 2, 64 to rank 3, and rank 2's 72 back to rank 1; inside: 3
  // to 4.
  EXPECT_EQ(report->network_bytes, 72 + 128 + 64 + 72);
  EXPECT_EQ(report->nvlink_bytes, 64);
}

TEST(VerifierTest, ATensorInPlaceNeedsNoMove) {
  EXPECT_EQ(VerdictOn(SmallInPlacePlan()), "accepted");
}

TEST(VerifierTest, AnEmptyPlanPromisesNothingAndKeepsIt) {
  EXPECT_EQ(VerdictOn(Plan{}), "accepted");
}

// One way to damage the small plan, and what the verifier must say.
struct Damage {
  std::string name;
  std::function<void(Plan&)> apply;
  std::string reason;
};

RegionTable RegionsWith(const RegionTable& regions, std::int64_t index,
                        const std::function<void(Region&, Longs&, Longs&, Longs&)>& edit) {
  RegionTable edited;
  for (std::int64_t i = 0; i < regions.size(); ++i) {
    Region region = regions[i];
    Longs begin(region.begin.begin(), region.begin.end());
    Longs extent(region.extent.begin(), region.extent.end());
    Longs stride(region.stride.begin(), region.stride.end());
    if (i == index) edit(region, begin, extent, stride);
    edited.Add({region.tensor, region.parameter, region.offset, begin, extent, stride});
  }
  return edited;
}

void EditRegion(Plan& plan, std::size_t layout, std::int64_t index,
                const std::function<void(Region&, Longs&, Longs&, Longs&)>& edit) {
  RegionTable& regions = plan.job.layouts[layout].regions;
  regions = RegionsWith(regions, index, edit);
}

void EditFragment(Plan& plan, std::int64_t index,
                  const std::function<void(Longs&, Longs&, std::int64_t&)>& edit) {
  FragmentTable edited;
  for (std::int64_t i = 0; i < plan.demand.fragments.size(); ++i) {
    const Fragment fragment = plan.demand.fragments[i];
    Longs begin(fragment.begin.begin(), fragment.begin.end());
    Longs extent(fragment.extent.begin(), fragment.extent.end());
    std::int64_t bytes = fragment.bytes;
    if (i == index) edit(begin, extent, bytes);
    edited.Add(fragment.tensor, bytes, begin, extent);
  }
  plan.demand.fragments = edited;
}

void ReplaceProgram(Plan& plan, std::size_t index, ParameterIndex parameter, std::int64_t offset,
                    std::int64_t run, const std::vector<CopyDim>& dims) {
  CopyProgram program;
  program.layout = plan.programs[index].layout;
  program.demand_class = plan.programs[index].demand_class;
  program.Add(parameter, offset, run, dims);
  plan.programs[index] = program;
}

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

std::vector<Damage> DemandDamages() {
  return {
      {"region_outside",
       [](Plan& p) {
         EditRegion(p, 2, 0, [](Region&, Longs& begin, Longs&, Longs&) { begin[0] = 1; });
       },
       "layout 2, region 0: dim 0 from 1 over 8 is not in tensor \"a\", which has 8"},
      {"region_stride",
       [](Plan& p) {
         EditRegion(p, 2, 0, [](Region&, Longs&, Longs&, Longs& stride) { stride[0] = 0; });
       },
       "layout 2, region 0: its stride of dim 0 is 0"},
      {"region_dtype", [](Plan& p) { p.job.layouts[2].parameters[1].dtype = DType::kI32; },
       "tensor \"b\" is F32, parameter \"b\" I32"},
      {"region_beyond",
       [](Plan& p) {
         p.job.layouts[3].parameters[0].shape = {7, 6};
       },
       "layout 3, region 0: it reaches beyond parameter \"a.right\", which has 42 elements"},
      {"region_order",
       [](Plan& p) {
         EditRegion(p, 2, 0, [](Region& r, Longs& begin, Longs& extent, Longs& stride) {
           r.tensor = 2;
           begin = {0};
           extent = {4};
           stride = {1};
         });
       },
       "layout 2, region 1: regions do not ascend"},
      // "c" one element further down lies on the last element of "a".
      {"regions_overlap",
       [](Plan& p) {
         EditRegion(p, 2, 2, [](Region& r, Longs&, Longs&, Longs&) { r.offset = 31; });
       },
       "layout 2: regions 0 and 2 overlap at element 31 of parameter \"fused\" (promise 1)"},
      {"region_overlaps_itself",
       [](Plan& p) {
         EditRegion(p, 3, 0, [](Region&, Longs&, Longs&, Longs& stride) { stride[0] = 3; });
       },
       "layout 3: regions 0 and 0 overlap at element 4 of parameter \"a.right\""},
      {"fragment_outside",
       [](Plan& p) {
         EditFragment(p, 2, [](Longs& begin, Longs&, std::int64_t&) { begin[1] = 5; });
       },
       "class 1, fragment 2: it is not inside tensor \"a\""},
      {"fragment_bytes",
       [](Plan& p) { EditFragment(p, 1, [](Longs&, Longs&, std::int64_t& bytes) { bytes = 16; }); },
       "class 0, fragment 1: it has 8 bytes, not 16"},
      {"class_bytes", [](Plan& p) { p.demand.classes[2].bytes = 129; },
       "class 2: its fragments have 128 bytes, not 129"},
      {"holder_is_no_source",
       [](Plan& p) {
         p.demand.rank_sets[3] = {0, 2};
       },
       "class 2: a rank that is no source holds it"},
      {"needer_is_no_destination",
       [](Plan& p) {
         p.demand.rank_sets[2] = {0, 3, 4};
       },
       "class 1: a rank that is no destination needs it"},
      {"needer_missing", [](Plan& p) { p.demand.rank_sets[2] = {3}; },
       "class 1: 1 of 2 ranks of layout 3 need it"},
      // Rank 1 holds b alone; as a holder of class 0 it would have to hold a.
      {"false_holder",
       [](Plan& p) {
         p.demand.classes[0].holders = 3;
         CopyProgram program;
         program.layout = 1;
         program.demand_class = 0;
         program.Add(0, 0, 64, std::vector<CopyDim>{});
         program.Add(0, 64, 8, std::vector<CopyDim>{});
         p.programs.insert(p.programs.begin() + 3, program);
       },
       "layout 1, class 0, fragment 0: no region of the layout has it, so its ranks do not hold "
       "it"},
      // Ranks 1 and 2 need class 1 as well, says the demand; their layout has no room for it.
      {"false_needer",
       [](Plan& p) {
         p.demand.rank_sets[2] = {1, 2, 3, 4};
         CopyProgram program;
         program.layout = 2;
         program.demand_class = 1;
         program.Add(0, 0, 64, std::vector<CopyDim>{});
         p.programs.insert(p.programs.begin() + 5, program);
       },
       "layout 2, class 1, fragment 2: no region of the layout has it, so its ranks do not need "
       "it"},
      {"no_program", [](Plan& p) { p.programs.pop_back(); },
       "layout 3, class 1: ranks of the layout need the class, but it has no program"},
      {"stray_program",
       [](Plan& p) {
         CopyProgram program = p.programs[3];
         program.demand_class = 1;
         p.programs.insert(p.programs.begin() + 3, program);
       },
       "program of layout 1, class 1: no rank of the layout holds or needs the class"},
      {"program_offset",
       [](Plan& p) {
         ReplaceProgram(p, 1, 0, 10, 8, {{8, 16}});
       },
       "layout 0, class 1, fragment 2: the program's entry addresses other bytes than the region "
       "has"},
      {"program_stride",
       [](Plan& p) {
         ReplaceProgram(p, 6, 0, 2, 8, {{8, 8}});
       },
       "layout 3, class 1, fragment 2: the program's entry addresses other bytes"},
      {"program_bytes",
       [](Plan& p) {
         ReplaceProgram(p, 6, 0, 2, 8, {{7, 12}});
       },
       "layout 3, class 1, fragment 2: the program's entry addresses other bytes"},
      {"program_wraps",
       [](Plan& p) {
         ReplaceProgram(p, 2, 1, 0, 128, {{std::int64_t{1} << 62, 0}, {4, 0}});
       },
       "layout 0, class 2, fragment 3: the program's entry addresses other bytes"},
      // The demand forgets the last row of the right half.
      {"fragment_short",
       [](Plan& p) {
         EditFragment(p, 2, [](Longs&, Longs& extent, std::int64_t& bytes) {
           extent[0] = 7;
           bytes = 56;
         });
         p.demand.classes[1].bytes = 56;
         p.columns[1].end = 56;
         ReplaceProgram(p, 1, 0, 8, 8, {{7, 16}});
         ReplaceProgram(p, 6, 0, 2, 8, {{7, 12}});
       },
       "layout 3, region 0 of tensor \"a\": 4 of its 32 elements are in no class that it needs"},
  };
}

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

class DamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(DamageTest, IsRefusedForItsOwnReason) {
  Plan plan = SmallPlan();
  GetParam().apply(plan);
  EXPECT_THAT(VerdictOn(plan), HasSubstr(GetParam().reason));
}

std::string NameOf(const ::testing::TestParamInfo<Damage>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Indices, DamageTest, ::testing::ValuesIn(IndexDamages()), NameOf);
INSTANTIATE_TEST_SUITE_P(Records, DamageTest, ::testing::ValuesIn(RecordDamages()), NameOf);
INSTANTIATE_TEST_SUITE_P(Demand, DamageTest, ::testing::ValuesIn(DemandDamages()), NameOf);
INSTANTIATE_TEST_SUITE_P(Flow, DamageTest, ::testing::ValuesIn(FlowDamages()), NameOf);
INSTANTIATE_TEST_SUITE_P(Staging, DamageTest, ::testing::ValuesIn(StagingDamages()), NameOf);
INSTANTIATE_TEST_SUITE_P(Groups, DamageTest, ::testing::ValuesIn(GroupDamages()), NameOf);

// Plans that look unusual and are sound: the verifier must not refuse what its promises allow.
TEST(SoundPlanTest, AnInstanceThatIsNeverReusedNeedsNoWaitForItsReaders) {
  Plan plan = SmallPlan();
  plan.schedules[0].slots[0].depth = 4;
  plan.schedules[0].waits.pop_back();
  EXPECT_EQ(VerdictOn(plan), "accepted");
  plan.schedules[0].slots[0].depth = 3;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("overwrites"));
}

TEST(SoundPlanTest, WaitsMayBeHadThroughAnotherLane) {
  // Rank 4 unpacks round r after its exchange; let packing wait for unpacking of round r, and the
  // exchange of round r + 2 for packing of round r + 0 .. in two hops: 1 + 1.
  Plan plan = SmallPlan();
  plan.schedules[4].waits = {{Lane::kUnpack, Lane::kExchange, 0},
                             {Lane::kPack, Lane::kUnpack, 1},
                             {Lane::kExchange, Lane::kPack, 1}};
  EXPECT_EQ(VerdictOn(plan), "accepted");
  plan.schedules[4].waits[1].lag = 2;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("overwrites"));
}

TEST(SoundPlanTest, EntriesNeedNotBeMerged) {
  // 128 contiguous bytes as 4 runs of 32.
  Plan plan = SmallPlan();
  ReplaceProgram(plan, 2, 1, 0, 32, {{2, 64}, {1, 7}, {2, 32}});
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

TEST(SoundPlanTest, AHolderMayReceiveInsteadOfMoving) {
  // Rank 1 takes class 2 from rank 2 together with class 0, instead of its own copy.
  Plan plan = SmallPlan();
  plan.schedules[1].local_moves.clear();
  plan.schedules[1].slots[0].items.push_back({2, 1, kFromParameters, 0, true});
  plan.schedules[1].slots[0].capacity = 64;
  plan.transfers[2].source.item_count = 2;
  plan.transfers[2].destination.item_count = 2;
  EXPECT_EQ(VerdictOn(plan), "accepted");
}

TEST(CertificateTest, SaysWhatThePlanSays) {
  const auto verdict_on = [](const std::function<void(Plan&)>& change) {
    Plan plan = SmallPlan();
    plan.job_digest = DigestHex(plan.job_json);
    const auto report = Verify(plan);
    plan.certificate.staging_bytes_max = report->staging_bytes_max;
    plan.certificate.ops_per_group_max = report->ops_per_group_max;
    plan.certificate.peers_max = report->peers_max;
    change(plan);
    const auto done = VerifyCertificate(plan, *report);
    return done ? std::string("accepted") : ToString(done.error());
  };
  EXPECT_EQ(verdict_on([](Plan&) {}), "accepted");
  EXPECT_THAT(verdict_on([](Plan& p) { p.job_json += " "; }), HasSubstr("the job's digest is"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.staging_bytes_max = 159; }),
              HasSubstr("it states 159 bytes of staging, the plan has 160 (promise 6)"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.ops_per_group_max = 3; }),
              HasSubstr("it states 3 operations in an NCCL group, the plan has 2"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.peers_max = 0; }),
              HasSubstr("it states 0 peers, the plan has 2"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.predicted_seconds = INFINITY; }),
              HasSubstr("not finite"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.predicted_seconds = 1.4e-5; }),
              HasSubstr("less than its lower bound"));
}

// In place: rank 1's "b" is source and destination.
TEST(InPlaceTest, BytesInPlaceAreNotMovedAsWell) {
  Plan plan = SmallInPlacePlan();
  plan.schedules[1].local_moves = {{2, 0}};
  EXPECT_THAT(VerdictOn(plan), HasSubstr("rank 1, class 2: bytes [0, 128) are written twice"));
}

TEST(InPlaceTest, OtherPairsSaveNothing) {
  Plan plan = SmallInPlacePlan();
  plan.job.in_place = {{"b", "fused"}};
  EXPECT_THAT(VerdictOn(plan), HasSubstr("rank 1, class 2: bytes [0, 128) are never written"));
}

// Rank 1's source "b" shares memory with its destination "fused": 72 bytes of class 0, which arrive
// in rounds 1..4, overwrite the first 72 bytes of b, which the local move of class 2 reads in
// rounds first_round .. first_round + 3. The write of round 1 is then over a byte read in round 0
// at the earliest, and up to byte 128 in round 3.
TEST(InPlaceTest, WritesWaitForTheLastReadOfAByte) {
  Plan plan = SmallPlan();
  plan.job.in_place = {{"b", "fused"}};
  EXPECT_THAT(VerdictOn(plan),
              HasSubstr("rank 1, class 0, fragment 0: round 1 writes it in place over "
                        "fragment 3 of class 2, which round 3 may still read"));
  // Once all of class 2 is moved in round 0, nothing is left to be read in round 1.
  plan.profiles.push_back({{1}});
  plan.columns[2].profile = 1;
  plan.schedules[0].slots[0].capacity = 160;
  plan.schedules[2].slots[0].capacity = 160;
  EXPECT_EQ(VerdictOn(plan), "accepted");
  // The order of a step's own moves and unpacking is not promised.
  plan.schedules[1].local_moves[0].first_round = 1;
  EXPECT_THAT(VerdictOn(plan), HasSubstr("round 1 may still read"));
}

}  // namespace
}  // namespace reshard
