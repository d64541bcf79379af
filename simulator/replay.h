// Runs a model: every rank its lanes, every transfer its flow, event by event.
//
//   A step of a lane starts when the step before it on its lane has ended and the rank's waits are
//   met. A rank without work in a round has no step there; a wait on such a step is met with the
//   steps before it. An exchange step is ready launch + group (+ batches) after its start. A
//   transfer starts when both ends are ready in its round; its operations end a hop's latency after
//   its last byte left; the step ends with its last operation. A pack or unpack step copies, after
//   its launch, at the rate of the GPU's HBM, which its two lanes share.
#pragma once

#include <cstdint>
#include <vector>

#include "foundation/error.h"
#include "simulator/flow_engine.h"
#include "simulator/replay_model.h"

namespace reshard {

// Told of everything that happened, when it has ended.
class ReplayObserver : public FlowObserver {
 public:
  virtual void OnStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start,
                      Nanoseconds end) = 0;
  // `start` and `end` are those of the flow: the hop's latency comes after.
  virtual void OnTransfer(TransferIndex transfer, RoundIndex round, std::int64_t bytes,
                          Nanoseconds start, Nanoseconds end) = 0;
};

struct ReplayTimes {
  std::vector<Nanoseconds> lane_ends;   // per rank and lane: rank * kLaneCount + lane; 0 if no step
  std::vector<Nanoseconds> round_ends;  // per round: latest end of its exchange steps; 0 if none
  Nanoseconds end = 0;
};

// kShort: what repeats is not run again (recurrence.h). Times differ from the long way's by a
// hundred thousandth at most, and not at all where the repetition is exact. Of models of more than
// 131,072 transfers, whose flows may end late, both are coarser (ReplayModel::tolerance).
enum class ReplayWay { kShort, kLong };

struct ReplayOutcome {
  ReplayTimes times;
  std::int64_t skipped_steps = 0;  // rounds not run again, summed over ranks
};

// `observer` may be null; with one the way is long. An input error if the plan's waits can never be
// met.
Result<ReplayOutcome> RunReplay(const ReplayModel& model, ReplayWay way = ReplayWay::kShort,
                                ReplayObserver* observer = nullptr);

}  // namespace reshard
