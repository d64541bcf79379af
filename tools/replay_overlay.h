// Predicted against measured: the steps of a simulation beside those of a real replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "schedules/replay_record.h"
#include "simulator/trace_reader.h"
#include "tools/text_table.h"

namespace reshard {

// One way of looking at the same steps twice. Seconds.
struct TimePair {
  double predicted = 0;
  double measured = 0;
};

struct LaneOverlay {
  Lane lane = Lane::kPack;
  std::int64_t predicted_steps = 0;
  std::int64_t measured_steps = 0;
  TimePair mean_step;
  TimePair end;  // of the last step, from the start of the first of any lane
};

// The longest step of any rank in one round, by lane.
struct RoundOverlay {
  RoundIndex round = 0;
  TimePair longest[kLaneCount];
};

struct RankOverlay {
  RankIndex rank = 0;
  double late_seconds = 0;    // measured: exchange steps begun after the round's median, summed
  TimePair busy[kLaneCount];  // sum of steps
  TimePair end;
};

struct ReplayOverlay {
  std::string file;
  TimePair end;
  std::vector<LaneOverlay> lanes;
  std::vector<RoundOverlay> rounds;  // ascending
  std::vector<RankOverlay> ranks;    // the latest first
};

// Both count from their earliest step. Fails where `measured` is of another job than `plan`, or has
// ranks or rounds that the plan has not, or no step at all. `file` names it in errors.
Result<ReplayOverlay> MakeOverlay(const Plan& plan, const std::vector<StepTime>& predicted,
                                  const TraceSteps& measured, const std::string& file);

// Field `overlay` of --json: all rounds and ranks.
void AppendFields(const ReplayOverlay& overlay, JsonValue::Object& fields);

// For people: lanes; rounds, of many those that differ most; the slowest ranks.
struct OverlayTable {
  std::string title;
  TextTable table;
};
std::vector<OverlayTable> OverlayTables(const ReplayOverlay& overlay, const Plan& plan);
std::string OverlayText(const ReplayOverlay& overlay, const Plan& plan);

}  // namespace reshard
