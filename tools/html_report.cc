#include "tools/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "schedules/drawing/markup_text.h"
#include "tools/report_template.h"

namespace reshard {
namespace {

const char* ClassOf(const TableColumn& column) {
  return column.alignment == Alignment::kRight ? " class=\"right\"" : "";
}

// An SVG file without what stands before its element.
std::string_view SvgElement(std::string_view svg) {
  const std::size_t start = svg.find("<svg");
  return start == std::string_view::npos ? std::string_view() : svg.substr(start);
}

std::string SectionText(const ReportSection& section) {
  std::string text = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", EscapeMarkup(section.id),
                                 EscapeMarkup(section.title));
  if (!section.binding.empty()) {
    text += fmt::format("<p class=\"binds\">{}</p>\n", EscapeMarkup(section.binding));
  }
  if (!section.note.empty()) {
    text += fmt::format("<p class=\"dim\">{}</p>\n", EscapeMarkup(section.note));
  }
  if (section.table) text += HtmlTable(*section.table);
  if (!section.svg.empty()) {
    text += fmt::format("<figure>{}</figure>\n", SvgElement(section.svg));
  }
  return text + "</section>\n";
}

}  // namespace

std::string HtmlTable(const TextTable& table) {
  const std::vector<TableColumn>& columns = table.columns();
  const bool has_headers = std::any_of(columns.begin(), columns.end(),
                                       [](const auto& column) { return !column.header.empty(); });
  std::string text =
      fmt::format("<div class=\"scroll\"><table{}>\n", has_headers ? "" : " class=\"facts\"");
  if (has_headers) {
    text += "<thead><tr>";
    for (const TableColumn& column : columns) {
      text += fmt::format("<th{}>{}</th>", ClassOf(column), EscapeMarkup(column.header));
    }
    text += "</tr></thead>\n";
  }
  text += "<tbody>\n";
  for (const std::vector<std::string>& row : table.rows()) {
    text += "<tr>";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += fmt::format("<td{}>{}</td>", ClassOf(columns[i]),
                          i < row.size() ? EscapeMarkup(row[i]) : "");
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

Result<std::string> FillTemplate(
    std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string filled;
  for (;;) {
    const std::size_t start = page.find("{{");
    if (start == std::string_view::npos) return filled + std::string(page);
    const std::size_t end = page.find("}}", start);
    if (end == std::string_view::npos) return InternalError("report", "its template has no end");
    const std::string_view name = page.substr(start + 2, end - start - 2);
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (value == values.end()) {
      return InternalError("report", "its template names " + std::string(name));
    }
    filled += page.substr(0, start);
    filled += value->second;
    page.remove_prefix(end + 2);
  }
}

Result<std::string> MakeHtmlReport(const ReportContents& contents) {
  std::string sections;
  for (const ReportSection& section : contents.sections) sections += SectionText(section);
  return FillTemplate(ReportTemplate(), {{"title", EscapeMarkup(contents.title)},
                                         {"subtitle", EscapeMarkup(contents.subtitle)},
                                         {"sections", sections},
                                         {"footer", EscapeMarkup(contents.footer)}});
}

}  // namespace reshard
