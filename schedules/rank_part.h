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
  std::vector<Parameter> destination_parameters;
  std::vector<InPlacePair> in_place;
  std::vector<CopyProgram> source_programs;       // ascending by class; only classes it reads
  std::vector<CopyProgram> destination_programs;  // ascending by class; only classes it writes
  std::vector<Profile> profiles;                  // those its columns use, renumbered
  std::vector<Column> columns;                    // those its slots and local moves use, renumbered
  RankSchedule schedule;
  std::vector<RankTransfer> sends;  // both in the order of Plan::transfers
  std::vector<RankTransfer> receives;
  bool operator==(const RankPart&) const = default;
};

// Precondition: `plan` has passed Verify().
RankPart ExtractRankPart(const Plan& plan, RankIndex rank);

}  // namespace reshard
