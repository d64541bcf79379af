#include "schedules/rank_part.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

template <typename Index>
void SortUnique(std::vector<Index>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

template <typename Index>
Index PositionOf(const std::vector<Index>& sorted, Index value) {
  return static_cast<Index>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

std::vector<CopyProgram> ProgramsOf(const Plan& plan, LayoutIndex layout,
                                    const std::vector<ClassIndex>& classes) {
  std::vector<CopyProgram> programs;
  for (const ClassIndex demand_class : classes) {
    const std::span<const CopyProgram> places = FindPrograms(plan.programs, layout, demand_class);
    programs.insert(programs.end(), places.begin(), places.end());
  }
  return programs;
}

void CopyParameters(const Plan& plan, RankPart& part) {
  const auto parameters_of = [&plan](LayoutIndex layout) {
    return layout == kNoLayout ? std::vector<Parameter>{}
                               : plan.job.layouts[static_cast<std::size_t>(layout)].parameters;
  };
  part.source_parameters = parameters_of(part.record.source_layout);
  part.destination_parameters = parameters_of(part.record.destination_layout);
  if (part.record.source_layout != kNoLayout) {
    part.source_conversions =
        plan.job.layouts[static_cast<std::size_t>(part.record.source_layout)].conversions;
  }
  if (plan.job.in_place.empty()) return;
  const auto names_of = [](const std::vector<Parameter>& parameters) {
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    std::sort(names.begin(), names.end());
    return names;
  };
  const std::vector<std::string> sources = names_of(part.source_parameters);
  const std::vector<std::string> destinations = names_of(part.destination_parameters);
  for (const InPlacePair& pair : plan.job.in_place) {
    if (std::binary_search(sources.begin(), sources.end(), pair.source_parameter) &&
        std::binary_search(destinations.begin(), destinations.end(), pair.destination_parameter)) {
      part.in_place.push_back(pair);
    }
  }
}

std::vector<ColumnIndex> ColumnsOf(const RankSchedule& schedule) {
  std::vector<ColumnIndex> columns;
  for (const Slot& slot : schedule.slots) {
    for (const SlotItem& item : slot.items) columns.push_back(item.column);
  }
  for (const LocalMove& move : schedule.local_moves) columns.push_back(move.column);
  SortUnique(columns);
  return columns;
}

// The columns of a part, renumbered with the profiles they use.
void CopyColumns(const Plan& plan, const std::vector<ColumnIndex>& columns, RankPart& part) {
  std::vector<ProfileIndex> profiles;
  for (const ColumnIndex column : columns) {
    profiles.push_back(plan.columns[static_cast<std::size_t>(column)].profile);
  }
  SortUnique(profiles);
  for (const ProfileIndex profile : profiles) {
    part.profiles.push_back(plan.profiles[static_cast<std::size_t>(profile)]);
  }
  for (const ColumnIndex column : columns) {
    part.columns.push_back(plan.columns[static_cast<std::size_t>(column)]);
    part.columns.back().profile = PositionOf(profiles, part.columns.back().profile);
  }
  for (Slot& slot : part.schedule.slots) {
    for (SlotItem& item : slot.items) item.column = PositionOf(columns, item.column);
  }
  for (LocalMove& move : part.schedule.local_moves) move.column = PositionOf(columns, move.column);
}

}  // namespace

TransfersByRank::TransfersByRank(const Plan& plan)
    : sends(plan.job.ranks.size()), receives(plan.job.ranks.size()) {
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    sends[static_cast<std::size_t>(transfer.from)].push_back(static_cast<std::int32_t>(i));
    receives[static_cast<std::size_t>(transfer.to)].push_back(static_cast<std::int32_t>(i));
  }
}

ClassesOfSchedule ClassesOf(const RankSchedule& schedule, const std::vector<Column>& columns) {
  ClassesOfSchedule classes;
  const auto class_of = [&columns](ColumnIndex column) {
    return columns[static_cast<std::size_t>(column)].demand_class;
  };
  for (const Slot& slot : schedule.slots) {
    for (const SlotItem& item : slot.items) {
      if (slot.kind == SlotKind::kPack && item.origin_slot == kFromParameters) {
        classes.read.push_back(class_of(item.column));
      }
      if (slot.kind == SlotKind::kReceive && item.unpack) {
        classes.written.push_back(class_of(item.column));
      }
    }
  }
  for (const LocalMove& move : schedule.local_moves) {
    classes.read.push_back(class_of(move.column));
    classes.written.push_back(class_of(move.column));
  }
  if (schedule.zero_round != kNoZeros) classes.written.push_back(kZeroClass);
  SortUnique(classes.read);
  SortUnique(classes.written);
  return classes;
}

std::int64_t StagingBytes(const RankSchedule& schedule) {
  std::int64_t bytes = 0;
  for (const Slot& slot : schedule.slots) {
    const auto size = CheckedMultiply(slot.capacity, slot.depth);
    const auto end = size ? CheckedAdd(slot.offset, *size) : std::nullopt;
    if (!end) return 0;
    bytes = std::max(bytes, *end);
  }
  return bytes;
}

SchedulePart ExtractSchedulePart(const Plan& plan, RankIndex rank,
                                 const TransfersByRank& transfers) {
  SchedulePart result;
  RankPart& part = result.part;
  const auto index = static_cast<std::size_t>(rank);
  part.job_digest = plan.job_digest;
  part.rank = rank;
  part.rank_count = static_cast<RankIndex>(plan.job.ranks.size());
  part.record = plan.job.ranks[index];
  part.round_count = plan.round_count;
  part.schedule = plan.schedules[index];
  part.staging_bytes = StagingBytes(part.schedule);
  result.columns = ColumnsOf(part.schedule);
  CopyColumns(plan, result.columns, part);
  for (const std::int32_t i : transfers.sends[index]) {
    const Transfer& transfer = plan.transfers[static_cast<std::size_t>(i)];
    part.sends.push_back({transfer.to, transfer.lag, transfer.source});
  }
  for (const std::int32_t i : transfers.receives[index]) {
    const Transfer& transfer = plan.transfers[static_cast<std::size_t>(i)];
    part.receives.push_back({transfer.from, 0, transfer.destination});
  }
  return result;
}

RankPart ExtractRankPart(const Plan& plan, RankIndex rank) {
  RankPart part = ExtractSchedulePart(plan, rank, TransfersByRank(plan)).part;
  CopyParameters(plan, part);
  const ClassesOfSchedule classes = ClassesOf(part.schedule, part.columns);
  part.source_programs = ProgramsOf(plan, part.record.source_layout, classes.read);
  part.destination_programs = ProgramsOf(plan, part.record.destination_layout, classes.written);
  return part;
}

}  // namespace reshard
