#include "tests/schedules/small_plan.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

void AddRegion(RankLayout& layout, TensorIndex tensor, ParameterIndex parameter,
               std::int64_t offset, const Longs& begin, const Longs& extent, const Longs& stride) {
  layout.regions.Add({tensor, parameter, offset, begin, extent, stride});
}

std::vector<RankLayout> Layouts() {
  std::vector<RankLayout> layouts(4);
  layouts[0].parameters = {
      {"a", DType::kBF16, {8, 8}}, {"b", DType::kF32, {32}}, {"c", DType::kBF16, {4}}};
  AddRegion(layouts[0], 0, 0, 0, {0, 0}, {8, 8}, {8, 1});
  AddRegion(layouts[0], 1, 1, 0, {0}, {32}, {1});
  AddRegion(layouts[0], 2, 2, 0, {0}, {4}, {1});
  layouts[1].parameters = {{"b", DType::kF32, {32}}};
  AddRegion(layouts[1], 1, 0, 0, {0}, {32}, {1});
  layouts[2].parameters = {{"fused", DType::kBF16, {9, 4}}, {"b", DType::kF32, {32}}};
  AddRegion(layouts[2], 0, 0, 0, {0, 0}, {8, 4}, {4, 1});
  AddRegion(layouts[2], 1, 1, 0, {0}, {32}, {1});
  AddRegion(layouts[2], 2, 0, 32, {0}, {4}, {1});
  layouts[3].parameters = {{"a.right", DType::kBF16, {8, 6}}};
  AddRegion(layouts[3], 0, 0, 1, {0, 4}, {8, 4}, {6, 1});
  return layouts;
}

JobRecords Job() {
  JobRecords job;
  job.tensors = {{"a", DType::kBF16, {8, 8}}, {"b", DType::kF32, {32}}, {"c", DType::kBF16, {4}}};
  job.layouts = Layouts();
  job.ranks = {{0, 0, 0, 0, kNoGroup, 0, kNoLayout},
               {1, 0, 0, 1, 0, 1, 2},
               {4, 1, 1, kNoGroup, 0, kNoLayout, 2},
               {5, 1, 1, kNoGroup, 1, kNoLayout, 3},
               {6, 1, 1, kNoGroup, 1, kNoLayout, 3}};
  job.options.staging_bytes = 4096;
  job.options.max_ops_per_group = 4;
  return job;
}

Demand SmallDemand() {
  Demand demand;
  demand.rank_sets = {{0}, {1, 2}, {3, 4}, {0, 1}};
  demand.classes = {{0, 1, 72, 0, 2}, {0, 2, 64, 2, 1}, {3, 1, 128, 3, 1}};
  demand.fragments.Add(0, 64, Longs{0, 0}, Longs{8, 4});
  demand.fragments.Add(2, 8, Longs{0}, Longs{4});
  demand.fragments.Add(0, 64, Longs{0, 4}, Longs{8, 4});
  demand.fragments.Add(1, 128, Longs{0}, Longs{32});
  return demand;
}

// Written out by hand, not by AppendEntry, so that the verifier is held against something else.
std::vector<CopyProgram> Programs() {
  std::vector<CopyProgram> programs(7);
  const auto name = [&programs](std::size_t index, LayoutIndex layout, ClassIndex demand_class) {
    programs[index].layout = layout;
    programs[index].demand_class = demand_class;
  };
  const std::vector<CopyDim> none;
  // a is 8 rows of 16 bytes; its halves are runs of 8.
  name(0, 0, 0);
  programs[0].Add(0, 0, 8, std::vector<CopyDim>{{8, 16}});
  programs[0].Add(2, 0, 8, none);
  name(1, 0, 1);
  programs[1].Add(0, 8, 8, std::vector<CopyDim>{{8, 16}});
  name(2, 0, 2);
  programs[2].Add(1, 0, 128, none);
  name(3, 1, 2);
  programs[3].Add(0, 0, 128, none);
  // fused: 64 bytes of a, then 8 of c.
  name(4, 2, 0);
  programs[4].Add(0, 0, 64, none);
  programs[4].Add(0, 64, 8, none);
  name(5, 2, 2);
  programs[5].Add(1, 0, 128, none);
  // a.right: rows of 12 bytes, the first element at byte 2.
  name(6, 3, 1);
  programs[6].Add(0, 2, 8, std::vector<CopyDim>{{8, 12}});
  return programs;
}

SlotItem Packed(ColumnIndex column, RoundIndex first_round) {
  return {column, first_round, kFromParameters, 0, false};
}

SlotItem Received(ColumnIndex column, RoundIndex first_round) {
  return {column, first_round, kFromParameters, 0, true};
}

std::vector<RankSchedule> Schedules() {
  const Wait exchange_after_pack{Lane::kExchange, Lane::kPack, 0};
  const Wait unpack_after_exchange{Lane::kUnpack, Lane::kExchange, 0};
  const Wait reuse_packed{Lane::kPack, Lane::kExchange, 2};
  const Wait reuse_received{Lane::kExchange, Lane::kUnpack, 2};
  std::vector<RankSchedule> schedules(5);
  schedules[0].slots = {{SlotKind::kPack, 0, 80, 2, {Packed(1, 0), Packed(0, 0), Packed(2, 0)}}};
  schedules[0].waits = {exchange_after_pack, reuse_packed};
  schedules[1].slots = {{SlotKind::kReceive, 0, 32, 2, {Received(0, 1)}}};
  schedules[1].local_moves = {{2, 0}};
  schedules[1].waits = {unpack_after_exchange, reuse_received};
  // The relay reads its receive slot one round later, so an instance lives through two rounds.
  schedules[2].slots = {{SlotKind::kReceive, 0, 64, 2, {Received(0, 0), Received(2, 0)}}};
  schedules[2].waits = {unpack_after_exchange, reuse_received};
  schedules[3].slots = {{SlotKind::kReceive, 64, 16, 2, {Received(1, 0)}},
                        {SlotKind::kPack, 0, 16, 2, {{1, 1, 0, 0, false}}}};
  schedules[3].waits = {exchange_after_pack,
                        unpack_after_exchange,
                        {Lane::kPack, Lane::kExchange, 1},
                        reuse_received};
  schedules[4].slots = {{SlotKind::kReceive, 0, 16, 2, {Received(1, 1)}}};
  schedules[4].waits = {unpack_after_exchange, reuse_received};
  return schedules;
}

}  // namespace

Plan SmallPlan() {
  Plan plan;
  plan.job_json = R"({"cluster":"two domains"})";
  plan.job_digest = "00112233445566778899aabbccddeeff";
  plan.job = Job();
  plan.demand = SmallDemand();
  plan.programs = Programs();
  const std::uint32_t quarter = std::uint32_t{1} << 30U;
  plan.profiles = {{{quarter, quarter, quarter, quarter}}};
  plan.columns = {{0, 0, 0, 72}, {1, 0, 0, 64}, {2, 0, 0, 128}};
  plan.transfers = {{0, 2, 0, {0, 1, 2}, {0, 0, 2}},
                    {0, 3, 0, {0, 0, 1}, {0, 0, 1}},
                    {2, 1, 1, {0, 0, 1}, {0, 0, 1}},
                    {3, 4, 0, {1, 0, 1}, {0, 0, 1}}};
  plan.schedules = Schedules();
  plan.round_count = 5;
  plan.notices.untouched = {"model.layers.61.embed"};
  plan.certificate.lower_bound = {1.5e-5, "LB6", "two network hops of 14 us"};
  plan.certificate.predicted_seconds = 2e-5;
  plan.certificate.staging_bytes_max = 160;
  plan.certificate.ops_per_group_max = 3;
  plan.certificate.peers_max = 2;
  return plan;
}

Plan SmallInPlacePlan() {
  Plan plan = SmallPlan();
  plan.job.in_place = {{"b", "b"}};
  plan.schedules[1].local_moves.clear();
  return plan;
}

Plan SmallTrafficPlan() {
  Plan plan = SmallPlan();
  plan.profiles.clear();
  plan.columns.clear();
  plan.transfers.clear();
  plan.schedules.assign(plan.job.ranks.size(), {});
  plan.round_count = 0;
  Traffic traffic;
  traffic.streams.resize(2);
  traffic.streams[0].name = "chain";
  TrafficPhase& chain = traffic.streams[0].phases.emplace_back();
  chain.barriers = 1;
  chain.chunk_bytes = 16;
  chain.flows = {{0, 2, 200, 3, 0}, {2, 1, 72, 2, 1}};
  chain.copies = {{2, 0, 200}};
  traffic.streams[1].name = "star";
  TrafficPhase& star = traffic.streams[1].phases.emplace_back();
  star.repeats = 2;
  star.host_synchronizations = 1;
  star.flows = {{0, 3, 32, 1, 0}, {0, 4, 32, 1, 0}};
  star.copies = {{0, 64, 0}};
  traffic.staging_bytes = {64, 0, 200, 0, 0};
  traffic.class_bytes = {72, 64, 128};
  plan.traffic = std::move(traffic);
  return plan;
}

}  // namespace reshard
