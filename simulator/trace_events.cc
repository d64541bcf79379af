#include "simulator/trace_events.h"

#include <fmt/format.h>

#include "foundation/json_writer.h"
#include "schedules/lane_names.h"

namespace reshard {
namespace {

constexpr int kExchangeThread = static_cast<int>(Lane::kExchange);

// Nanoseconds as microseconds with three decimals, the format's unit.
std::string Microseconds(Nanoseconds time) {
  return fmt::format("{}.{:03}", time / 1000, time % 1000);
}

std::string Quoted(std::string_view text) { return JsonLine(std::string(text)); }

}  // namespace

TraceEvents::TraceEvents(const TraceHeader& header) {
  JsonValue::Object facts{{"kind", header.kind}, {"digest", header.digest}};
  for (const auto& [name, text] : header.notes) facts.emplace_back(name, text);
  text_ = "{\"displayTimeUnit\":\"ms\",\n\"otherData\":" + JsonLine(std::move(facts)) +
          ",\n\"traceEvents\":[";
}

void TraceEvents::NameProcess(std::int64_t process, std::string_view name, std::int64_t place) {
  Add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})",
                  process, Quoted(name)));
  Add(fmt::format(
      R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})",
      process, place));
}

void TraceEvents::NameRank(RankIndex rank, const Rank& record, std::int64_t place) {
  NameProcess(rank, fmt::format("rank {} (GPU {} in domain {})", rank, record.gpu, record.domain),
              place);
  for (int lane = 0; lane < kLaneCount; ++lane) {
    Add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                    rank, lane, kLaneNames[lane]));
  }
}

void TraceEvents::AddStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start,
                          Nanoseconds end, std::string_view unit, std::int64_t amount) {
  const int thread = static_cast<int>(lane);
  Add(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"round {}","cat":"{}","args":{{{}:{}}}}})",
      rank, thread, Microseconds(start), Microseconds(end - start), round, kLaneNames[thread],
      Quoted(unit), amount));
}

void TraceEvents::AddStep(RankIndex rank, Lane lane, RoundIndex round, Nanoseconds start,
                          Nanoseconds end) {
  const int thread = static_cast<int>(lane);
  Add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"round {}","cat":"{}"}})",
                  rank, thread, Microseconds(start), Microseconds(end - start), round,
                  kLaneNames[thread]));
}

void TraceEvents::AddArrow(std::int64_t id, RankIndex from, RankIndex to, RoundIndex round,
                           std::int64_t bytes, Nanoseconds start, Nanoseconds end) {
  Add(fmt::format(
      R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"name":"transfer","cat":"transfer",)"
      R"("args":{{"round":{},"bytes":{},"from":{},"to":{}}}}})",
      id, from, kExchangeThread, Microseconds(start), round, bytes, from, to));
  Add(fmt::format(
      R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"transfer","cat":"transfer"}})",
      id, to, kExchangeThread, Microseconds(end)));
}

void TraceEvents::AddCounter(std::int64_t process, std::string_view name, std::string_view unit,
                             Nanoseconds at, double value) {
  Add(fmt::format(R"({{"ph":"C","pid":{},"tid":0,"ts":{},"name":{},"args":{{{}:{:.6g}}}}})",
                  process, Microseconds(at), Quoted(name), Quoted(unit), value));
}

void TraceEvents::Add(std::string_view event) {
  text_ += first_ ? "\n" : ",\n";
  first_ = false;
  text_ += event;
}

std::string TraceEvents::Take() {
  text_ += "\n]}\n";
  return std::move(text_);
}

}  // namespace reshard
