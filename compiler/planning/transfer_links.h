// Who sends what to whom, whatever the rounds: the hops of all columns, gathered into transfers.
//
// Any routes can be carried out: what a rank forwards to one peer is sent from where it was
// received if it lies together there, else packed anew a round later.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/planning/rounds.h"
#include "compiler/planning/routes.h"
#include "schedules/job_records.h"
#include "schedules/plan.h"

namespace reshard {

// One hop of one column.
struct Hop {
  std::int32_t column = 0;
  RankIndex from = 0;
  RankIndex to = 0;
  std::int64_t parent = -1;  // index of the hop that brought it to `from`
  std::int32_t link = 0;     // index of its Link
  std::int32_t item = 0;     // in the receive slot of `to` in its phase
  RoundIndex round = 0;      // of chunk 0, from the phase's start
};

// All hops from one rank to another in one phase: a transfer.
struct Link {
  std::int32_t phase = 0;
  RankIndex from = 0;
  RankIndex to = 0;
  std::vector<std::int64_t> hops;  // ascending by column
  bool packed = false;             // from a pack slot, not from a receive slot
  bool forwards = false;           // some of it was received
  RoundIndex first_round = 0;      // of chunk 0 on its earliest and on its latest hop
  RoundIndex last_round = 0;
};

struct TransferLinks {
  std::vector<Hop> hops;    // column by column, parents before children
  std::vector<Link> links;  // sorted by (from, to, phase)
  std::vector<std::vector<std::int32_t>>
      areas;                           // see ReceiveArea: links that arrive, in slot order
  std::vector<std::int32_t> pack_lag;  // per rank: rounds it packs ahead, 1 if it repacks
  std::vector<RoundIndex> shift;       // per column: rounds before its network hop
};

// Index into TransferLinks::areas: what `rank` receives in `phase`, one slot.
inline std::size_t ReceiveArea(RankIndex rank, std::int32_t phase, const Phases& phases) {
  return static_cast<std::size_t>(rank) * phases.bytes.size() + static_cast<std::size_t>(phase);
}

TransferLinks MakeTransferLinks(const JobRecords& job, const Routes& routes, const Phases& phases);

}  // namespace reshard
