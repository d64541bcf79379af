// A page of tables and drawings that needs nothing but itself: no network, no script, no font.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "tools/text_table.h"

namespace reshard {

// One part of the page; what is empty is left out. Texts are escaped here, `svg` is taken as it is.
struct ReportSection {
  std::string id;  // of the element, for links and tests
  std::string title;
  std::string binding;  // a line that stands out
  std::string note;
  std::optional<TextTable> table;
  std::string svg;
};

struct ReportContents {
  std::string title;
  std::string subtitle;
  std::string footer;
  std::vector<ReportSection> sections;
};

// A table without headers is one of facts: a name and a value a row.
std::string HtmlTable(const TextTable& table);

// `page` with each {{name}} replaced by its value; a fault of the program where a name has none.
Result<std::string> FillTemplate(
    std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& values);

Result<std::string> MakeHtmlReport(const ReportContents& contents);

}  // namespace reshard
