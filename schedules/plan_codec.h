// Plan <-> file. The only place that knows the Protobuf schema (plan.proto).
//
// A file is a fixed magic and schema version, a table of sections with offset, size and XXH3 hash,
// and the sections: header and certificate, job text, tensors, layouts, demand, programs per
// layout, schedule records, per rank an index of what it needs, and the traffic of a
// simulation-only plan. A rank reads the table and its own sections only. Equal plans encode to
// equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "schedules/rank_part.h"

namespace reshard {

// 2: simulation-only plans. 3: declared zeros, bytes at several places of a rank, and conversions.
// 4: channel hints.
inline constexpr std::uint32_t kPlanSchemaVersion = 4;

Result<std::string> EncodePlan(const Plan& plan);
// `place` names the file in errors. Damaged, truncated, foreign or newer bytes are refused with a
// reason; nothing is allocated that the bytes present do not pay for.
Result<Plan> DecodePlan(std::string_view bytes, const std::string& place);

// Writes to a temporary name beside `path` and renames, so that a file is whole or not there.
// Returns the bytes written.
Result<std::int64_t> WritePlanFile(const Plan& plan, const std::string& path);
Result<Plan> ReadPlanFile(const std::string& path);
// Reads what NCCL is to be told, alone.
Result<ChannelHints> ReadChannelHints(const std::string& path);
// Reads the sections of one rank only, in time proportional to them. A simulation-only plan has
// none and is refused.
Result<RankPart> ReadRankPart(const std::string& path, RankIndex rank);

}  // namespace reshard
