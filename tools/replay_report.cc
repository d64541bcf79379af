#include "tools/replay_report.h"

#include <utility>

#include "schedules/number_text.h"
#include "tools/amounts.h"
#include "tools/json_output.h"
#include "tools/text_table.h"

namespace reshard {

std::string TableText(const ReplayReport& report, const PlanSummary& summary) {
  TextTable table({{"refit", Alignment::kRight},
                   {"bytes", Alignment::kRight},
                   {"time", Alignment::kRight},
                   {"rate", Alignment::kRight},
                   {"content", Alignment::kLeft}});
  for (const RefitRow& row : report.rows) {
    const bool is_timed = row.seconds > 0;
    table.AddRow({std::to_string(row.refit), BytesText(summary.bytes),
                  is_timed ? SecondsText(row.seconds) : "-",
                  is_timed ? RateText(static_cast<double>(summary.bytes) / row.seconds / 1e9) : "-",
                  row.verdict});
  }
  if (!report.trace && !report.shards) return table.Text();
  TextTable files({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  if (report.trace) AppendRows(*report.trace, files);
  if (report.shards) {
    files.AddRow({"shards", CountedText(report.shards->files, "file", "files") + " in " +
                                report.shards->folder + ", " + BytesText(report.shards->bytes)});
  }
  return table.Text() + "\n" + files.Text();
}

std::string JsonText(const ReplayReport& report, const PlanSummary& summary,
                     const std::string& backend, std::size_t ranks) {
  JsonValue::Array refits;
  for (const RefitRow& row : report.rows) {
    refits.emplace_back(JsonValue::Object{{"refit", row.refit},
                                          {"bytes", summary.bytes},
                                          {"seconds", row.seconds},
                                          {"verdict", row.verdict}});
  }
  JsonValue::Object fields;
  fields.emplace_back("backend", backend);
  fields.emplace_back("ranks", ranks);
  fields.emplace_back("bytes", summary.bytes);
  fields.emplace_back("rounds", summary.rounds);
  fields.emplace_back("stagingBytesMax", summary.staging_bytes_max);
  fields.emplace_back("digest", summary.digest);
  fields.emplace_back("refits", std::move(refits));
  if (report.trace) AppendFields(*report.trace, fields);
  if (report.shards) {
    fields.emplace_back("shards", JsonValue::Object{{"folder", report.shards->folder},
                                                    {"files", report.shards->files},
                                                    {"bytes", report.shards->bytes}});
  }
  return JsonReport(fields);
}

}  // namespace reshard
