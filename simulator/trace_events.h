// A trace as text, event by event, in the "Trace Event Format" (Google, catapult project), JSON
// object form: what Perfetto and chrome://tracing open.
//
// The schema that predicted and measured traces share:
//   otherData  "kind" ("predicted" or "measured"), "digest" of the job, further notes;
//   process p  rank p, with threads 0, 1 and 2: its pack, exchange and unpack lanes;
//   phase X    a step: name "round 12", category the lane's name.
// simulator/trace_reader.h reads it. Times are nanoseconds here, microseconds with three decimals
// in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/plan.h"
#include "simulator/instant_tree.h"

namespace reshard {

inline constexpr std::string_view kPredictedTrace = "predicted";
inline constexpr std::string_view kMeasuredTrace = "measured";

struct TraceHeader {
  std::string kind;
  std::string digest;                                      // of the normalised job
  std::vector<std::pair<std::string, std::string>> notes;  // shown by viewers as metadata
};

class TraceEvents {
 public:
  explicit TraceEvents(const TraceHeader& header);

  // Processes are shown in the order of `place`.
  void NameProcess(std::int64_t process, std::string_view name, std::int64_t place);
  // Process `rank` and its three threads.
  void NameRank(RankIndex rank, const Rank& record, std::int64_t place);
  // `amount` of `unit`: what the step does.
  void AddStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start, Nanoseconds end,
               std::string_view unit, std::int64_t amount);
  void AddStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start, Nanoseconds end);
  // From the sender's exchange step to the receiver's; `id` is the arrow's own.
  void AddArrow(std::int64_t id, RankIndex from, RankIndex to, RoundIndex round, std::int64_t bytes,
                Nanoseconds start, Nanoseconds end);
  // The counter `name` has `value` from `at` on.
  void AddCounter(std::int64_t process, std::string_view name, std::string_view unit,
                  Nanoseconds at, double value);

  // The whole text; nothing may be added after it.
  std::string Take();

 private:
  void Add(std::string_view event);

  std::string text_;
  bool first_ = true;
};

}  // namespace reshard
