#include "tools/text_table.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(TextTable, AlignsColumnsUnderTheirHeaders) {
  TextTable table({{"resource", Alignment::kLeft}, {"GB/s", Alignment::kRight}});
  table.AddRow({"NIC 3 out", "48"});
  table.AddRow({"GPU 117 NVLink in", "720"});
  EXPECT_EQ(table.Text(),
            "resource           GB/s\n"
            "NIC 3 out            48\n"
            "GPU 117 NVLink in   720\n");
}

TEST(TextTable, PrintsNoHeaderWhereAllAreEmpty) {
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"rounds", "198"});
  table.AddRow({"gap", "3.6 %"});
  EXPECT_EQ(table.Text(),
            "rounds  198\n"
            "gap     3.6 %\n");
}

TEST(TextTable, LeavesNoBlanksAtTheEndOfALine) {
  TextTable table({{"a", Alignment::kLeft}, {"b", Alignment::kLeft}});
  table.AddRow({"long cell", ""});
  table.AddRow({"x"});
  EXPECT_EQ(table.Text(),
            "a          b\n"
            "long cell\n"
            "x\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({{"", Alignment::kRight}, {"", Alignment::kLeft}});
  table.AddRow({"\xC3\xBC", "|"});  // one character of two bytes
  table.AddRow({"uu", "|"});
  EXPECT_EQ(table.Text(),
            " \xC3\xBC  |\n"
            "uu  |\n");
}

}  // namespace
}  // namespace reshard
