#include "tools/report_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "schedules/drawing/cluster_view.h"
#include "schedules/drawing/load_chart.h"
#include "schedules/drawing/rounds_view.h"
#include "schedules/drawing/timeline_view.h"
#include "schedules/number_text.h"
#include "simulator/record_replay.h"
#include "tools/amounts.h"
#include "tools/output_file.h"
#include "tools/resource_busy.h"
#include "tools/resource_summary.h"

namespace reshard {
namespace {

ReportSection SummarySection(const ReportInput& input) {
  const PlanSummary& summary = input.summary;
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  AppendRows(summary, input.plan.job.options, table);
  table.AddRow({"commit", SecondsText(input.commit_seconds) + " more, after the refit"});
  AppendRows(input.plan, table);
  return {"summary", "Summary", "What binds: " + summary.bound_by, "", std::move(table), ""};
}

// The pictures, in the order of the page.
Result<std::vector<ReportSection>> DrawingSections(const ReportInput& input) {
  const Result<ReplayRecord> record = RecordReplay(input.plan, input.cluster, input.constants);
  if (!record) return tl::unexpected(record.error());
  std::vector<ReportSection> sections;
  const auto add = [&](const char* id, const char* title, const char* note,
                       Result<std::string> svg) -> Result<void> {
    if (!svg) return tl::unexpected(svg.error());
    sections.push_back({id, title, "", note, {}, *std::move(svg)});
    return {};
  };
  const std::vector<ResourceBusy> busy = BusyResources(input.simulated);
  return add("utilisation", "Utilisation over time", "",
             DrawLoadChart(input.plan, input.cluster, *record))
      .and_then([&] {
        return add("cluster", "Cluster", "NVLink domains and what flows between them over NICs.",
                   DrawClusterView(input.plan, input.cluster, busy, DrawingFormat::kSvg));
      })
      .and_then([&] {
        return add("rounds", "Rounds", "", DrawRoundsView(input.plan, input.cluster, *record));
      })
      .and_then([&] {
        return add("timeline", "Timeline", "",
                   DrawTimelineView(input.plan, input.cluster, *record));
      })
      .map([&] { return std::move(sections); });
}

}  // namespace

std::vector<ReportSection> ScenarioSections(const Scenarios& scenarios, const Scenario& unchanged) {
  std::vector<ReportSection> sections;
  const auto add = [&](const char* id, const char* title, const char* heading,
                       const std::vector<Scenario>& list, std::string svg) {
    if (list.empty()) return;
    const std::vector<Scenario> rows = WithUnchanged(unchanged, list);
    sections.push_back({id, title, "", fmt::format("{}", fmt::join(ScenarioNotes(rows), "; ")),
                        ScenarioTable(heading, rows), std::move(svg)});
  };
  add("what-if", "What if", "what if", scenarios.what_if, "");
  add("sweep", "Sweep", "sweep", scenarios.swept,
      scenarios.sweep ? DrawSweep(*scenarios.sweep, scenarios.swept) : "");
  return sections;
}

Result<WrittenReport> WriteReport(const std::string& path, const ReportInput& input) {
  ReportContents contents;
  contents.title = "Refit of " + input.name;
  contents.subtitle =
      fmt::format("{} ranks, {} to move, predicted {}",
                  CountText(static_cast<std::int64_t>(input.plan.job.ranks.size())),
                  BytesText(input.summary.bytes), SecondsText(input.simulated.seconds));
  if (input.summary.gap) {
    contents.subtitle += fmt::format(", {} above the lower bound", PercentText(*input.summary.gap));
  }
  contents.footer = fmt::format(
      "Times are predictions of a flow-level simulator, but for those called measured. Job {}, "
      "simulator constants {}.",
      input.plan.job_digest, ConstantsDigest(input.constants));
  contents.sections.push_back(SummarySection(input));
  contents.sections.insert(contents.sections.end(), input.more.begin(), input.more.end());
  contents.sections.push_back({"resources", "Resources", "",
                               "What each kind carries, and how much of the time it is busy.",
                               ResourceTable(ResourceKinds(input.simulated.resources)), ""});
  Result<std::vector<ReportSection>> drawings = DrawingSections(input);
  if (!drawings) return tl::unexpected(drawings.error());
  for (ReportSection& section : *drawings) contents.sections.push_back(std::move(section));
  const Result<std::string> page = MakeHtmlReport(contents);
  if (!page) return tl::unexpected(page.error());
  const Result<std::int64_t> bytes = WriteWholeFile(path, *page);
  if (!bytes) return tl::unexpected(bytes.error());
  return WrittenReport{path, *bytes};
}

void AppendFields(const WrittenReport& report, JsonValue::Object& fields) {
  fields.emplace_back("report",
                      JsonValue::Object{{"file", report.path}, {"fileBytes", report.bytes}});
}

void AppendRows(const WrittenReport& report, TextTable& table) {
  table.AddRow({"report", fmt::format("{}, {}", report.path, BytesText(report.bytes))});
}

}  // namespace reshard
