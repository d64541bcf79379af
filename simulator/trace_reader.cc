#include "simulator/trace_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "foundation/strict_json.h"
#include "schedules/lane_names.h"
#include "simulator/trace_events.h"

namespace reshard {
namespace {

constexpr const char* kRemedy = "give a file that reshard-replay --trace has written";
// Microseconds in 36 years: beyond that no replay goes on, and nanoseconds fit 64 bits.
constexpr NumberRange kMicroseconds{0, 1e15, false};
constexpr IntegerRange kRankRange{0, std::numeric_limits<RankIndex>::max()};

std::optional<Lane> LaneOf(std::string_view category) {
  for (int lane = 0; lane < kLaneCount; ++lane) {
    if (category == kLaneNames[lane]) return static_cast<Lane>(lane);
  }
  return std::nullopt;
}

std::optional<RoundIndex> RoundOf(std::string_view name) {
  constexpr std::string_view kWord = "round ";
  if (!name.starts_with(kWord)) return std::nullopt;
  name.remove_prefix(kWord.size());
  RoundIndex round = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), round);
  if (error != std::errc() || end != name.data() + name.size() || round < 0) return std::nullopt;
  return round;
}

std::int64_t NanosecondsIn(double microseconds) { return std::llround(microseconds * 1e3); }

// The step that `event` is, if it is one.
Result<std::optional<StepTime>> ReadStep(const JsonCursor& event) {
  const Result<std::string> phase = event.String("ph");
  if (!phase) return tl::unexpected(phase.error());
  if (*phase != "X") return std::nullopt;
  const Result<std::string> category = event.StringOr("cat", "");
  if (!category) return tl::unexpected(category.error());
  const std::optional<Lane> lane = LaneOf(*category);
  if (!lane) return std::nullopt;
  const Result<std::string> name = event.String("name");
  if (!name) return tl::unexpected(name.error());
  const std::optional<RoundIndex> round = RoundOf(*name);
  if (!round) return event.Fail("a step named '" + *name + "', not \"round N\"", kRemedy);
  const Result<std::int64_t> rank = event.Integer("pid", kRankRange);
  if (!rank) return tl::unexpected(rank.error());
  const Result<double> start = event.Number("ts", kMicroseconds);
  if (!start) return tl::unexpected(start.error());
  const Result<double> duration = event.Number("dur", kMicroseconds);
  if (!duration) return tl::unexpected(duration.error());
  StepTime step{static_cast<RankIndex>(*rank), *lane, *round, NanosecondsIn(*start), 0};
  step.end_ns = step.start_ns + NanosecondsIn(*duration);
  return step;
}

auto KeyOf(const StepTime& step) { return std::tuple(step.rank, step.lane, step.round); }

Result<TraceSteps> ReadDocument(const JsonDocument& document) {
  const JsonCursor root(document);
  const std::optional<JsonCursor> facts = root.Find("otherData");
  if (!facts || !facts->Has("digest")) {
    return InputError(root.Place(), "this is no trace of reshard", kRemedy);
  }
  TraceSteps trace;
  Result<std::string> kind = facts->String("kind");
  if (!kind) return tl::unexpected(kind.error());
  if (*kind != kPredictedTrace && *kind != kMeasuredTrace) {
    return facts->Fail("of unknown kind '" + *kind + "'", kRemedy);
  }
  Result<std::string> digest = facts->String("digest");
  if (!digest) return tl::unexpected(digest.error());
  trace.kind = std::move(*kind);
  trace.digest = std::move(*digest);
  const Result<std::vector<JsonCursor>> events = root.Elements("traceEvents");
  if (!events) return tl::unexpected(events.error());
  for (const JsonCursor& event : *events) {
    const Result<std::optional<StepTime>> step = ReadStep(event);
    if (!step) return tl::unexpected(step.error());
    if (*step) trace.steps.push_back(**step);
  }
  const auto by_key = [](const StepTime& a, const StepTime& b) { return KeyOf(a) < KeyOf(b); };
  std::sort(trace.steps.begin(), trace.steps.end(), by_key);
  const auto twice =
      std::adjacent_find(trace.steps.begin(), trace.steps.end(),
                         [](const auto& a, const auto& b) { return KeyOf(a) == KeyOf(b); });
  if (twice != trace.steps.end()) {
    return InputError(root.Place(),
                      "rank " + std::to_string(twice->rank) + " has round " +
                          std::to_string(twice->round) + " twice in its " + LaneName(twice->lane) +
                          " lane",
                      kRemedy);
  }
  return trace;
}

}  // namespace

Result<TraceSteps> ReadTrace(const std::string& path) {
  return ReadJsonFile(path).and_then(ReadDocument);
}

Result<TraceSteps> ParseTrace(std::string_view text, const std::string& name) {
  return ParseJson(text, name).and_then(ReadDocument);
}

}  // namespace reshard
