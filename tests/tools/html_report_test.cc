#include "tools/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/report_template.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlReportTest, ATableWithHeaders) {
  TextTable table({{"name", Alignment::kLeft}, {"a < b", Alignment::kRight}});
  table.AddRow({"<x>", "7"});
  table.AddRow({"short"});
  EXPECT_EQ(HtmlTable(table),
            "<div class=\"scroll\"><table>\n"
            "<thead><tr><th>name</th><th class=\"right\">a &lt; b</th></tr></thead>\n"
            "<tbody>\n<tr><td>&lt;x&gt;</td><td class=\"right\">7</td></tr>\n"
            "<tr><td>short</td><td class=\"right\"></td></tr>\n</tbody></table></div>\n");
}

TEST(HtmlReportTest, ATableWithoutHeadersIsOneOfFacts) {
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"gap", "1.7 %"});
  EXPECT_THAT(HtmlTable(table), HasSubstr("<table class=\"facts\">"));
  EXPECT_THAT(HtmlTable(table), Not(HasSubstr("<thead>")));
}

TEST(HtmlReportTest, TemplatesAreFilled) {
  EXPECT_EQ(*FillTemplate("a {{x}} b {{y}}{{x}}", {{"x", "{{y}}"}, {"y", "2"}}),
            "a {{y}} b 2{{y}}");
  EXPECT_FALSE(FillTemplate("{{z}}", {{"x", "1"}}));
  EXPECT_FALSE(FillTemplate("{{x", {{"x", "1"}}));
}

TEST(HtmlReportTest, SectionsHaveTheirParts) {
  ReportContents contents;
  contents.title = "Refit of <plan>";
  contents.sections.push_back({"one",
                               "First & last",
                               "binds < 1",
                               "note",
                               {},
                               "<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n<svg width=\"1\"></svg>"});
  contents.sections.push_back({"two", "Second", "", "", {}, ""});
  const Result<std::string> page = MakeHtmlReport(contents);
  ASSERT_TRUE(page) << ToString(page.error());
  EXPECT_THAT(*page, HasSubstr("<title>Refit of &lt;plan&gt;</title>"));
  EXPECT_THAT(*page, HasSubstr("<section id=\"one\">\n<h2>First &amp; last</h2>\n"
                               "<p class=\"binds\">binds &lt; 1</p>\n<p class=\"dim\">note</p>\n"
                               "<figure><svg width=\"1\"></svg></figure>\n</section>"));
  EXPECT_THAT(*page, HasSubstr("<section id=\"two\">\n<h2>Second</h2>\n</section>"));
  EXPECT_THAT(*page, Not(HasSubstr("<?xml")));
  EXPECT_THAT(*page, Not(HasSubstr("{{")));
}

}  // namespace
}  // namespace reshard
