// From a rank's part of a plan, which stores patterns, to what the rank does round by round: copy
// tables of the pack and unpack lanes and the operations of each exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "kernels/conversion.h"
#include "kernels/copy_table.h"
#include "schedules/rank_part.h"

namespace reshard {

// Bases of all tables of a rank: 0 is staging, then the source parameters in the order of the part,
// then the destination parameters. A computed parameter is a base without memory: what is read of
// it stands in tables of conversions, whose source bases number LoweredRank::converted.
inline constexpr BaseIndex kStagingBase = 0;

// One send or one receive of a round.
struct ExchangeOperation {
  RankIndex peer = 0;
  std::int64_t offset = 0;  // in staging
  std::int64_t bytes = 0;   // never 0
  bool operator==(const ExchangeOperation&) const = default;
};

// Step r of each lane. Sends and receives are in the order of Plan::transfers; two ranks have at
// most one transfer each way in a round, so both ends of a pair see the same order.
struct LoweredRound {
  CopyTable pack;
  CopyTable converted_pack;
  std::vector<ExchangeOperation> sends;
  std::vector<ExchangeOperation> receives;
  CopyTable unpack;  // with the round's local moves and zeros
  CopyTable converted_unpack;
};

struct LoweredRank {
  RankIndex rank = 0;
  RankIndex rank_count = 0;
  std::vector<std::int64_t> base_bytes;  // of every base; 0 of computed parameters
  ConvertedBuffers converted;
  std::vector<LoweredRound> rounds;
  std::vector<Wait> waits;
};

// Time and memory are proportional to the fragments the rank touches plus its items times rounds.
// A part that comes from a verified plan always lowers; any other is refused with a reason where a
// copy or an operation would leave its buffer, never run.
Result<LoweredRank> Lower(const RankPart& part);

}  // namespace reshard
