#include "schedules/rank_part.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

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

// The columns and classes a rank's schedule touches, ascending, in the plan's numbering.
struct Touched {
  std::vector<ColumnIndex> columns;
  std::vector<ClassIndex> source_classes;
  std::vector<ClassIndex> destination_classes;
};

Touched TouchedBy(const Plan& plan, const RankSchedule& schedule) {
  Touched touched;
  const auto class_of = [&plan](ColumnIndex column) {
    return plan.columns[static_cast<std::size_t>(column)].demand_class;
  };
  for (const Slot& slot : schedule.slots) {
    for (const SlotItem& item : slot.items) {
      touched.columns.push_back(item.column);
      if (slot.kind == SlotKind::kPack && item.origin_slot == kFromParameters) {
        touched.source_classes.push_back(class_of(item.column));
      }
      if (slot.kind == SlotKind::kReceive && item.unpack) {
        touched.destination_classes.push_back(class_of(item.column));
      }
    }
  }
  for (const LocalMove& move : schedule.local_moves) {
    touched.columns.push_back(move.column);
    touched.source_classes.push_back(class_of(move.column));
    touched.destination_classes.push_back(class_of(move.column));
  }
  SortUnique(touched.columns);
  SortUnique(touched.source_classes);
  SortUnique(touched.destination_classes);
  return touched;
}

std::vector<CopyProgram> ProgramsOf(const Plan& plan, LayoutIndex layout,
                                    const std::vector<ClassIndex>& classes) {
  std::vector<CopyProgram> programs;
  for (const ClassIndex demand_class : classes) {
    const auto found = std::lower_bound(
        plan.programs.begin(), plan.programs.end(), std::tuple(layout, demand_class),
        [](const CopyProgram& program, const std::tuple<LayoutIndex, ClassIndex>& key) {
          return std::tuple(program.layout, program.demand_class) < key;
        });
    if (found != plan.programs.end() && found->layout == layout &&
        found->demand_class == demand_class) {
      programs.push_back(*found);
    }
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

void CopySchedule(const Plan& plan, const std::vector<ColumnIndex>& columns, RankPart& part) {
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
  part.schedule = plan.schedules[static_cast<std::size_t>(part.rank)];
  for (Slot& slot : part.schedule.slots) {
    for (SlotItem& item : slot.items) item.column = PositionOf(columns, item.column);
  }
  for (LocalMove& move : part.schedule.local_moves) move.column = PositionOf(columns, move.column);
}

}  // namespace

RankPart ExtractRankPart(const Plan& plan, RankIndex rank) {
  RankPart part;
  part.job_digest = plan.job_digest;
  part.rank = rank;
  part.rank_count = static_cast<RankIndex>(plan.job.ranks.size());
  part.record = plan.job.ranks[static_cast<std::size_t>(rank)];
  part.round_count = plan.round_count;
  for (const Slot& slot : plan.schedules[static_cast<std::size_t>(rank)].slots) {
    part.staging_bytes =
        std::max(part.staging_bytes, slot.offset + slot.capacity * std::int64_t{slot.depth});
  }
  CopyParameters(plan, part);
  const Touched touched = TouchedBy(plan, plan.schedules[static_cast<std::size_t>(rank)]);
  CopySchedule(plan, touched.columns, part);
  part.source_programs = ProgramsOf(plan, part.record.source_layout, touched.source_classes);
  part.destination_programs =
      ProgramsOf(plan, part.record.destination_layout, touched.destination_classes);
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.from == rank) {
      part.sends.push_back({transfer.to, transfer.lag, transfer.source});
    }
    if (transfer.to == rank) {
      part.receives.push_back({transfer.from, 0, transfer.destination});
    }
  }
  return part;
}

}  // namespace reshard
