#include "tools/trace_file.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "schedules/number_text.h"
#include "simulator/trace.h"
#include "simulator/trace_events.h"
#include "tools/output_file.h"

namespace reshard {

Result<WrittenTrace> WriteTrace(const std::string& path, const Plan& plan, const Cluster& cluster,
                                const Constants& constants) {
  Result<Trace> trace = MakeTrace(plan, cluster, constants);
  if (!trace) return tl::unexpected(trace.error());
  const Result<std::int64_t> bytes = WriteWholeFile(path, trace->text);
  if (!bytes) return tl::unexpected(bytes.error());
  return WrittenTrace{path, *bytes, std::move(trace->arrows), std::move(trace->counters)};
}

Result<WrittenTrace> WriteMeasuredTrace(const std::string& path, const Plan& plan,
                                        const std::vector<StepTime>& steps) {
  TraceEvents events({std::string(kMeasuredTrace), plan.job_digest, {}});
  for (std::size_t rank = 0; rank < plan.job.ranks.size(); ++rank) {
    events.NameRank(static_cast<RankIndex>(rank), plan.job.ranks[rank],
                    static_cast<std::int64_t>(rank));
  }
  for (const StepTime& step : steps) {
    events.AddStep(step.rank, step.lane, step.round, step.start_ns, step.end_ns);
  }
  const Result<std::int64_t> bytes = WriteWholeFile(path, events.Take());
  if (!bytes) return tl::unexpected(bytes.error());
  return WrittenTrace{path, *bytes, "", ""};
}

void AppendFields(const WrittenTrace& trace, JsonValue::Object& fields) {
  JsonValue::Object object{{"file", trace.path}, {"fileBytes", trace.bytes}};
  if (!trace.arrows.empty()) object.emplace_back("arrows", trace.arrows);
  if (!trace.counters.empty()) object.emplace_back("counters", trace.counters);
  fields.emplace_back("trace", std::move(object));
}

void AppendRows(const WrittenTrace& trace, TextTable& table) {
  table.AddRow({"trace", fmt::format("{}, {}", trace.path, BytesText(trace.bytes))});
  if (!trace.arrows.empty()) table.AddRow({"", "arrows: " + trace.arrows});
  if (!trace.counters.empty()) table.AddRow({"", "counters: " + trace.counters});
}

}  // namespace reshard
