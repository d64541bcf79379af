#include "schedules/plan_indices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace reshard {
namespace {

template <typename Table>
bool IsRow(std::int64_t index, const Table& table) {
  return index >= 0 && index < static_cast<std::int64_t>(table.size());
}

tl::unexpected<Error> Bad(std::string place, std::string reason) {
  return InputError(std::move(place), std::move(reason));
}

Result<void> RanksFit(const JobRecords& job) {
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const Rank& rank = job.ranks[i];
    for (const LayoutIndex layout : {rank.source_layout, rank.destination_layout}) {
      if (layout != kNoLayout && !IsRow(layout, job.layouts)) {
        return Bad(fmt::format("rank {}", i), fmt::format("there is no layout {}", layout));
      }
    }
  }
  return {};
}

Result<void> ZerosFit(const RankLayout& layout, std::size_t index) {
  for (std::int64_t k = 0; k < layout.zeros.size(); ++k) {
    const Region region = layout.zeros[k];
    if (region.tensor != kZeroTensor) {
      return Bad(fmt::format("layout {}, zeros {}", index, k), "they are of a tensor");
    }
    if (!IsRow(region.parameter, layout.parameters)) {
      return Bad(fmt::format("layout {}, zeros {}", index, k),
                 fmt::format("there is no parameter {}", region.parameter));
    }
  }
  return {};
}

Result<void> ConversionsFit(const JobRecords& job) {
  for (std::size_t i = 0; i < job.converted.size(); ++i) {
    if (!IsRow(job.converted[i].tensor, job.tensors)) {
      return Bad(fmt::format("converted tensor {}", i), "there is no such tensor");
    }
  }
  for (std::size_t i = 0; i < job.layouts.size(); ++i) {
    for (const Conversion& conversion : job.layouts[i].conversions) {
      if (!IsRow(conversion.parameter, job.layouts[i].parameters) ||
          !IsRow(conversion.source, job.layouts[i].parameters)) {
        return Bad(fmt::format("layout {}", i), "a conversion of parameters that it lacks");
      }
    }
  }
  return {};
}

Result<void> LayoutsFit(const JobRecords& job) {
  for (std::size_t i = 0; i < job.layouts.size(); ++i) {
    const RankLayout& layout = job.layouts[i];
    for (std::int64_t k = 0; k < layout.regions.size(); ++k) {
      const Region region = layout.regions[k];
      // Named only in an error: there are millions of regions.
      const auto place = [&] { return fmt::format("layout {}, region {}", i, k); };
      if (!IsRow(region.tensor, job.tensors)) {
        return Bad(place(), fmt::format("there is no tensor {}", region.tensor));
      }
      if (!IsRow(region.parameter, layout.parameters)) {
        return Bad(place(), fmt::format("there is no parameter {}", region.parameter));
      }
      const Tensor& tensor = job.tensors[static_cast<std::size_t>(region.tensor)];
      if (region.begin.size() != tensor.shape.size()) {
        return Bad(place(), fmt::format("{} dims for the {} of tensor \"{}\"", region.begin.size(),
                                        tensor.shape.size(), tensor.name));
      }
    }
    if (auto fit = ZerosFit(layout, i); !fit) return fit;
  }
  return {};
}

Result<void> DemandFits(const JobRecords& job, const Demand& demand) {
  for (std::size_t i = 0; i < demand.rank_sets.size(); ++i) {
    for (const RankIndex rank : demand.rank_sets[i]) {
      if (!IsRow(rank, job.ranks)) {
        return Bad(fmt::format("rank set {}", i), fmt::format("there is no rank {}", rank));
      }
    }
  }
  std::int64_t next = 0;
  for (std::size_t i = 0; i < demand.classes.size(); ++i) {
    const DemandClass& demand_class = demand.classes[i];
    if (!IsRow(demand_class.holders, demand.rank_sets) ||
        !IsRow(demand_class.needers, demand.rank_sets)) {
      return Bad(fmt::format("class {}", i), "its holders or needers are no rank set of the plan");
    }
    if (demand_class.first_fragment != next || demand_class.fragment_count < 1 ||
        demand_class.fragment_count > demand.fragments.size() - next) {
      return Bad(fmt::format("class {}", i),
                 fmt::format("its fragments do not begin at {} and end within the table", next));
    }
    next += demand_class.fragment_count;
  }
  if (next != demand.fragments.size()) {
    return Bad("fragments",
               fmt::format("{} of {} belong to a class", next, demand.fragments.size()));
  }
  for (std::int64_t i = 0; i < demand.fragments.size(); ++i) {
    const Fragment fragment = demand.fragments[i];
    if (!IsRow(fragment.tensor, job.tensors)) {
      return Bad(fmt::format("fragment {}", i),
                 fmt::format("there is no tensor {}", fragment.tensor));
    }
    if (fragment.begin.size() !=
        job.tensors[static_cast<std::size_t>(fragment.tensor)].shape.size()) {
      return Bad(fmt::format("fragment {}", i), "its box has not the dims of its tensor");
    }
  }
  return {};
}

Result<void> ProgramsFit(const Plan& plan) {
  const CopyProgram* last = nullptr;
  for (const CopyProgram& program : plan.programs) {
    const std::string place =
        fmt::format("program of layout {}, class {}", program.layout, program.demand_class);
    const bool is_zero = program.demand_class == kZeroClass;
    if (!IsRow(program.layout, plan.job.layouts) ||
        (!is_zero && !IsRow(program.demand_class, plan.demand.classes))) {
      return Bad(place, "there is no such layout or class");
    }
    if (last != nullptr && std::tuple(last->layout, last->demand_class) >
                               std::tuple(program.layout, program.demand_class)) {
      return Bad(place, "programs do not ascend by layout and class");
    }
    const RankLayout& layout = plan.job.layouts[static_cast<std::size_t>(program.layout)];
    const std::int64_t wanted =
        is_zero
            ? layout.zeros.size()
            : plan.demand.classes[static_cast<std::size_t>(program.demand_class)].fragment_count;
    if (program.size() != wanted) {
      return Bad(place, fmt::format("{} entries for {} {}", program.size(), wanted,
                                    is_zero ? "regions of zeros" : "fragments"));
    }
    for (std::int64_t i = 0; i < program.size(); ++i) {
      if (!IsRow(program[i].parameter, layout.parameters)) {
        return Bad(place,
                   fmt::format("entry {}: there is no parameter {}", i, program[i].parameter));
      }
    }
    last = &program;
  }
  return {};
}

Result<void> ColumnsFit(const Plan& plan) {
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    if (!IsRow(plan.columns[i].demand_class, plan.demand.classes)) {
      return Bad(fmt::format("column {}", i),
                 fmt::format("there is no class {}", plan.columns[i].demand_class));
    }
    if (!IsRow(plan.columns[i].profile, plan.profiles)) {
      return Bad(fmt::format("column {}", i),
                 fmt::format("there is no profile {}", plan.columns[i].profile));
    }
  }
  return {};
}

// What is wrong with an item; nothing if all is well.
std::string ItemFault(const Plan& plan, const RankSchedule& schedule, const SlotItem& item) {
  if (!IsRow(item.column, plan.columns)) return fmt::format("there is no column {}", item.column);
  if (item.origin_slot == kFromParameters) return "";
  if (!IsRow(item.origin_slot, schedule.slots) ||
      !IsRow(item.origin_item, schedule.slots[static_cast<std::size_t>(item.origin_slot)].items)) {
    return fmt::format("it comes from item {} of slot {}, which is not there", item.origin_item,
                       item.origin_slot);
  }
  return "";
}

Result<void> SchedulesFit(const Plan& plan) {
  if (plan.schedules.size() != plan.job.ranks.size()) {
    return Bad("schedules",
               fmt::format("{} for {} ranks", plan.schedules.size(), plan.job.ranks.size()));
  }
  for (std::size_t rank = 0; rank < plan.schedules.size(); ++rank) {
    const RankSchedule& schedule = plan.schedules[rank];
    for (std::size_t s = 0; s < schedule.slots.size(); ++s) {
      const Slot& slot = schedule.slots[s];
      if (slot.kind != SlotKind::kPack && slot.kind != SlotKind::kReceive) {
        return Bad(fmt::format("rank {}, slot {}", rank, s), "it is of no kind");
      }
      for (std::size_t i = 0; i < slot.items.size(); ++i) {
        std::string fault = ItemFault(plan, schedule, slot.items[i]);
        if (!fault.empty()) {
          return Bad(fmt::format("rank {}, slot {}, item {}", rank, s, i), std::move(fault));
        }
      }
    }
    for (std::size_t i = 0; i < schedule.local_moves.size(); ++i) {
      if (!IsRow(schedule.local_moves[i].column, plan.columns)) {
        return Bad(fmt::format("rank {}, local move {}", rank, i),
                   fmt::format("there is no column {}", schedule.local_moves[i].column));
      }
    }
    for (const Wait& wait : schedule.waits) {
      if (static_cast<int>(wait.lane) >= kLaneCount || static_cast<int>(wait.on) >= kLaneCount) {
        return Bad(fmt::format("rank {}", rank), "a wait names a lane that is none");
      }
    }
  }
  return {};
}

std::string RunFault(const Plan& plan, RankIndex rank, const SlotRun& run) {
  const std::vector<Slot>& slots = plan.schedules[static_cast<std::size_t>(rank)].slots;
  if (!IsRow(run.slot, slots)) return fmt::format("rank {} has no slot {}", rank, run.slot);
  const auto items =
      static_cast<std::int64_t>(slots[static_cast<std::size_t>(run.slot)].items.size());
  if (run.first_item < 0 || run.item_count < 1 || run.item_count > items - run.first_item) {
    return fmt::format("a run of {} items from item {} on is not in slot {} of rank {}",
                       run.item_count, run.first_item, run.slot, rank);
  }
  return "";
}

Result<void> TransfersFit(const Plan& plan) {
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    std::string fault;
    if (!IsRow(transfer.from, plan.job.ranks) || !IsRow(transfer.to, plan.job.ranks)) {
      fault = fmt::format("there is no rank {} or {}", transfer.from, transfer.to);
    }
    if (fault.empty()) fault = RunFault(plan, transfer.from, transfer.source);
    if (fault.empty()) fault = RunFault(plan, transfer.to, transfer.destination);
    if (!fault.empty()) return Bad(fmt::format("transfer {}", i), std::move(fault));
  }
  return {};
}

Result<void> TrafficFits(const Plan& plan) {
  if (!plan.traffic) return {};
  const Traffic& traffic = *plan.traffic;
  if (traffic.staging_bytes.size() != plan.job.ranks.size() ||
      traffic.class_bytes.size() != plan.demand.classes.size()) {
    return Bad("traffic", "it has not a row for each rank and each class");
  }
  for (std::size_t s = 0; s < traffic.streams.size(); ++s) {
    for (const TrafficPhase& phase : traffic.streams[s].phases) {
      const bool flows = std::ranges::all_of(phase.flows, [&](const TrafficFlow& flow) {
        return IsRow(flow.from, plan.job.ranks) && IsRow(flow.to, plan.job.ranks);
      });
      const bool copies = std::ranges::all_of(
          phase.copies, [&](const TrafficCopy& copy) { return IsRow(copy.rank, plan.job.ranks); });
      if (!flows || !copies) {
        return Bad(fmt::format("stream {}", s), "it names a rank that is not there");
      }
    }
  }
  for (const Omission& omission : traffic.omissions) {
    if (!IsRow(omission.tensor, plan.job.tensors)) {
      return Bad("omissions", fmt::format("there is no tensor {}", omission.tensor));
    }
  }
  return {};
}

}  // namespace

Result<void> PlanIndicesFit(const Plan& plan) {
  Result<void> fits = RanksFit(plan.job);
  if (fits) fits = ConversionsFit(plan.job);
  if (fits) fits = LayoutsFit(plan.job);
  if (fits) fits = DemandFits(plan.job, plan.demand);
  if (fits) fits = ProgramsFit(plan);
  if (fits) fits = ColumnsFit(plan);
  if (fits) fits = SchedulesFit(plan);
  if (fits) fits = TransfersFit(plan);
  if (fits) fits = TrafficFits(plan);
  return fits;
}

}  // namespace reshard
