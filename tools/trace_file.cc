#include "tools/trace_file.h"

#include <fmt/format.h>

#include <utility>

#include "schedules/number_text.h"
#include "simulator/trace.h"
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

void AppendFields(const WrittenTrace& trace, JsonValue::Object& fields) {
  fields.emplace_back("trace", JsonValue::Object{{"file", trace.path},
                                                 {"fileBytes", trace.bytes},
                                                 {"arrows", trace.arrows},
                                                 {"counters", trace.counters}});
}

void AppendRows(const WrittenTrace& trace, TextTable& table) {
  table.AddRow({"trace", fmt::format("{}, {}", trace.path, BytesText(trace.bytes))});
  table.AddRow({"", "arrows: " + trace.arrows});
  table.AddRow({"", "counters: " + trace.counters});
}

}  // namespace reshard
