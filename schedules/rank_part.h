// The part of a plan that one rank needs to replay it; a value, self-contained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

// One end of a transfer, as its rank sees it.
struct RankTransfer {
  RankIndex peer = 0;
  std::int32_t lag = 0;  // sends only: round r sends the run's bytes of instance r - lag
  SlotRun run;
  bool operator==(const RankTransfer&) const = default;
};

struct RankPart {
  std::string job_digest;
  RankIndex rank = 0;
  RankIndex rank_count = 0;
  Rank record;
  RoundIndex round_count = 0;
  std::int64_t staging_bytes = 0;
  std::vector<Parameter> source_parameters;
  std::vector<Conversion> source_conversions;  // ascending by parameter
  std::vector<Parameter> destination_parameters;
  std::vector<InPlacePair> in_place;
  // Ascending by class, one per place; only of classes it reads and writes, and of zeros if it
  // writes any.
  std::vector<CopyProgram> source_programs;
  std::vector<CopyProgram> destination_programs;
  std::vector<Profile> profiles;  // those its columns use, renumbered
  std::vector<Column> columns;    // those its slots and local moves use, renumbered
  RankSchedule schedule;
  std::vector<RankTransfer> sends;  // both in the order of Plan::transfers
  std::vector<RankTransfer> receives;
  bool operator==(const RankPart&) const = default;
};

// Precondition: `plan` has passed Verify().
RankPart ExtractRankPart(const Plan& plan, RankIndex rank);

// The transfers of a plan by rank, so that all parts of a plan are had in one pass over them.
struct TransfersByRank {
  explicit TransfersByRank(const Plan& plan);
  std::vector<std::vector<std::int32_t>> sends;  // of each rank, indices into Plan::transfers
  std::vector<std::vector<std::int32_t>> receives;
};

// A part without parameters, programs and in-place pairs, and where its columns stand in the plan.
struct SchedulePart {
  RankPart part;
  std::vector<ColumnIndex> columns;  // number in the plan of each of part.columns
};
// Precondition: PlanIndicesFit(plan).
SchedulePart ExtractSchedulePart(const Plan& plan, RankIndex rank,
                                 const TransfersByRank& transfers);

// The classes a rank packs from, and unpacks to, its parameters; ascending, kZeroClass among the
// latter if it writes zeros. `columns` are those the schedule's column numbers count.
struct ClassesOfSchedule {
  std::vector<ClassIndex> read;
  std::vector<ClassIndex> written;
};
ClassesOfSchedule ClassesOf(const RankSchedule& schedule, const std::vector<Column>& columns);

// What the slots of a rank take together, from byte 0 of its staging; 0 if they do not fit 64 bits.
std::int64_t StagingBytes(const RankSchedule& schedule);

}  // namespace reshard
