#include "topology/importers/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Expanded(std::string_view text) {
  const Result<std::vector<std::string>> names = ExpandHostList(text, "conf: line 1", 1000);
  EXPECT_TRUE(names) << ToString(names.error());
  return names.value_or(std::vector<std::string>());
}

std::string Refusal(std::string_view text, std::int64_t most = 1000) {
  const Result<std::vector<std::string>> names = ExpandHostList(text, "conf: line 1", most);
  return names ? "accepted" : ToString(names.error());
}

TEST(HostListTest, RangesKeepLeadingZeros) {
  EXPECT_THAT(Expanded("node[008-010,020]"),
              ElementsAre("node008", "node009", "node010", "node020"));
  EXPECT_THAT(Expanded("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(Expanded("n[98-101]x"), ElementsAre("n98x", "n99x", "n100x", "n101x"));
}

TEST(HostListTest, ListsAndSeveralBrackets) {
  EXPECT_THAT(Expanded("a,b[1-2],c"), ElementsAre("a", "b1", "b2", "c"));
  EXPECT_THAT(Expanded("r[0-1]n[1-2]"), ElementsAre("r0n1", "r0n2", "r1n1", "r1n2"));
}

TEST(HostListTest, RefusesWhatIsNoList) {
  for (const char* text : {"", "a,,b", "n[1-2", "n1]", "n[[1]]", "n[]", "n[1-]", "n[3-1]", "n[a]",
                           "n[1-2,]", "n[-1]", "n[99999999999999999999]"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("conf: line 1: ")) << text;
  }
}

TEST(HostListTest, RefusesTooManyBeforeMakingThem) {
  EXPECT_EQ(Refusal("n[1-10]", 10), "accepted");
  EXPECT_THAT(Refusal("n[1-11]", 10), HasSubstr("more than 10 names"));
  EXPECT_THAT(Refusal("a[1-999999999999]b[1-999999999999]"), HasSubstr("more than 1000 names"));
  EXPECT_THAT(Refusal("a[0-999999999999999999,0-999999999999999999]"), HasSubstr("more than"));
}

}  // namespace
}  // namespace reshard
