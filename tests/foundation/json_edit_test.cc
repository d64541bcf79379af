#include "foundation/json_edit.h"

#include <gtest/gtest.h>

#include "foundation/json_writer.h"
#include "foundation/strict_json.h"

namespace reshard {
namespace {

JsonDocument Parsed(std::string_view text) {
  Result<JsonDocument> document = ParseJson(text, "job.json");
  EXPECT_TRUE(document);
  return document.value_or(JsonDocument{});
}

// `text` after one edit, or the error.
std::string Edited(std::string_view text, std::string_view path, std::string_view value) {
  JsonDocument document = Parsed(text);
  const Result<void> done = SetJson(document, path, value);
  return done ? CanonicalJson(document.root) : ToString(done.error());
}

TEST(SetJsonTest, ReplacesAndMakesFields) {
  EXPECT_EQ(Edited(R"({"options":{"stagingMiB":1}})", "options.stagingMiB", "512"),
            R"({"options":{"stagingMiB":512}})");
  EXPECT_EQ(Edited("{}", "options.nicShare", "0.5"), R"({"options":{"nicShare":0.5}})");
}

TEST(SetJsonTest, ReachesArrayElements) {
  EXPECT_EQ(Edited(R"({"destination":[{"gpus":"0"},{"gpus":"1"}]})", "destination.1.gpus", "2-3"),
            R"({"destination":[{"gpus":"0"},{"gpus":"2-3"}]})");
  EXPECT_EQ(Edited(R"({"a":[1,2]})", "a.2", "3"),
            "--set a.2: '2' is no index of an array of 2 elements");
  EXPECT_EQ(Edited(R"({"a":[1,2]})", "a.-1", "3"),
            "--set a.-1: '-1' is no index of an array of 2 elements");
  EXPECT_EQ(Edited(R"({"a":[1,2]})", "a.99999999999999999999", "3"),
            "--set a.99999999999999999999: '99999999999999999999' is no index of an array of 2 "
            "elements");
}

TEST(SetJsonTest, ValuesAreJsonElseText) {
  EXPECT_EQ(Edited("{}", "a", "[1, true, null]"), R"({"a":[1,true,null]})");
  EXPECT_EQ(Edited("{}", "a", "optimal"), R"({"a":"optimal"})");
  EXPECT_EQ(Edited("{}", "a", "\"3\""), R"({"a":"3"})");
  EXPECT_EQ(Edited("{}", "a", ""), R"({"a":""})");
  EXPECT_EQ(Edited("{}", "a", "[1, 2").substr(0, 24), "--set a: line 1, column ");
}

TEST(SetJsonTest, QuotedNamesMayHoldDots) {
  EXPECT_EQ(Edited("{}", R"(model."lm_head.weight".dtype)", "F32"),
            R"({"model":{"lm_head.weight":{"dtype":"F32"}}})");
}

TEST(SetJsonTest, RefusesPathsThatLeadNowhere) {
  EXPECT_EQ(Edited(R"({"a":1})", "a.b", "2"),
            "--set a.b: 'b' would lie in an integer, which has no fields");
  EXPECT_EQ(Edited("{}", "a..b", "2").substr(0, 35), "--set a..b: a name in the path is e");
  EXPECT_EQ(Edited("{}", "", "2").substr(0, 12), "--set : a na");
  EXPECT_EQ(Edited("{}", "a.", "2").substr(0, 12), "--set a.: a ");
  EXPECT_EQ(Edited("{}", "\"a", "2"), "--set \"a: a quote is not closed; close it");
  EXPECT_EQ(Edited("{}", "\"a\"b", "2"),
            "--set \"a\"b: a quoted name does not end at a dot; quote whole names");
}

TEST(SetJsonTest, AFailedEditLeavesTheErrorInOneLine) {
  const std::string error = Edited("{}", "a", "{\n\n");
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

}  // namespace
}  // namespace reshard
