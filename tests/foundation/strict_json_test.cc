#include "foundation/strict_json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "foundation/json_writer.h"

namespace reshard {
namespace {

// The canonical text of what `text` parses to, or the error.
std::string Outcome(std::string_view text, const JsonLimits& limits = {}) {
  const Result<JsonDocument> document = ParseJson(text, "job.json", limits);
  return document ? CanonicalJson(document->root) : ToString(document.error());
}

std::string Repeated(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

// A file of this test alone, gone with it.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view text = "")
      : path_(std::filesystem::temp_directory_path() /
              ("strict_json_test." + std::to_string(getpid()) + ".json")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ParseJsonTest, ReadsEveryKind) {
  EXPECT_EQ(Outcome(R"( {"a": [null, true, false, -3, 2.5, "x\u0041"], "b": {}} )"),
            R"({"a":[null,true,false,-3,2.5,"xA"],"b":{}})");
  EXPECT_EQ(Outcome("7"), "7");
}

TEST(ParseJsonTest, KeepsDocumentOrder) {
  const Result<JsonDocument> document = ParseJson(R"({"b":1,"a":{"d":2,"c":3}})", "t");
  ASSERT_TRUE(document);
  EXPECT_EQ(JsonLine(document->root), R"({"b": 1, "a": {"d": 2, "c": 3}})");
}

TEST(ParseJsonTest, IntegersAreExactToTheLastBit) {
  const Result<JsonDocument> document =
      ParseJson("[9223372036854775807, -9223372036854775808, 9007199254740993]", "t");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root, JsonValue(JsonValue::Array{INT64_MAX, INT64_MIN, 9007199254740993}));
}

TEST(ParseJsonTest, IntegersBeyond64BitsAreNumbersButNoIntegers) {
  for (const char* text : {"9223372036854775808", "18446744073709551616", "-9223372036854775809"}) {
    const Result<JsonDocument> document = ParseJson(text, "t");
    ASSERT_TRUE(document);
    const JsonCursor cursor(*document);
    EXPECT_FALSE(cursor.AsInteger()) << text;
    EXPECT_TRUE(cursor.AsNumber()) << text;
  }
}

TEST(ParseJsonTest, SyntaxErrorsNameLineAndColumn) {
  // The comma that ends line 2 is followed by '}' in column 3 of line 3.
  const std::string error = Outcome("{\n  \"a\": 1,\n  }");
  EXPECT_EQ(error.substr(0, 28), "job.json: line 3, column 3: ") << error;
}

TEST(ParseJsonTest, ANumberBeyondADoubleIsRefusedWithoutTheLibrarysTag) {
  EXPECT_EQ(Outcome("[1e999]"), "job.json: line 1, column 6: number overflow parsing '1e999'");
}

TEST(ParseJsonTest, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",          " ",     "{",    "[1,]",       "{\"a\":1,}", "[1 2]",       "{'a':1}",
        "{a:1}",     "nul",   "NaN",  "[Infinity]", "-",          "01",          "1.",
        ".5",        "+1",    "0x10", "\"\x01\"",   "\"\xff\"",   "\"\\ud800\"", "// c\n1",
        "/* c */ 1", "{} {}", "1 1",  "{}x",        "\"a",        "[1e400]",     "\"\\x41\""}) {
    const std::string outcome = Outcome(text);
    EXPECT_EQ(outcome.substr(0, 15), "job.json: line ") << text << " -> " << outcome;
    EXPECT_EQ(outcome.find('\n'), std::string::npos) << outcome;
  }
}

TEST(ParseJsonTest, RefusesDuplicateKeysByPath) {
  EXPECT_EQ(Outcome(R"({"a":1,"a":1})"), "job.json: field 'a' stands twice; keep one");
  EXPECT_EQ(Outcome(R"({"a":[0,{"b":{"c":1,"d":2,"c":3}}]})"),
            "job.json: a.1.b: field 'c' stands twice; keep one");
  EXPECT_EQ(Outcome(R"({"a":1,"\u0061":1})"), "job.json: field 'a' stands twice; keep one");
  EXPECT_EQ(Outcome(R"({"a":{"x":1},"b":{"x":1}})"), R"({"a":{"x":1},"b":{"x":1}})");
}

TEST(ParseJsonTest, NestingOf64IsReadAnd65Refused) {
  const std::string deepest = Repeated("[", 64) + Repeated("]", 64);
  EXPECT_EQ(Outcome(deepest), deepest);
  EXPECT_EQ(Outcome("[" + deepest + "]"), "job.json: nesting deeper than 64");
  EXPECT_EQ(Outcome(Repeated("{\"a\":", 65)), "job.json: nesting deeper than 64");
}

TEST(ParseJsonTest, AMillionBracketsAreRefusedByTheFirst65) {
  EXPECT_EQ(Outcome(std::string(1 << 20, '[')), "job.json: nesting deeper than 64");
}

TEST(ParseJsonTest, LimitsOfBytesAndValuesHold) {
  // Six values: the array, four integers, and the object in between.
  const std::string text = "[1,2,{\"a\":3},4]";
  EXPECT_EQ(Outcome(text, {.values = 6}), text);
  EXPECT_EQ(Outcome(text, {.values = 5}), "job.json: more than 5 values");
  EXPECT_EQ(Outcome(text, {.bytes = 15}), text);
  EXPECT_EQ(Outcome(text, {.bytes = 14}), "job.json: larger than 14 bytes");
}

TEST(ParseJsonTest, LongBadTokensAreQuotedShort) {
  EXPECT_LT(Outcome("\"" + std::string(1 << 20, 'x')).size(), 300u);
  EXPECT_LT(
      Outcome("{\"" + std::string(1000, 'k') + "\":1,\"" + std::string(1000, 'k') + "\":1}").size(),
      300u);
}

// Damage of any kind ends in a value or an error, and a value has one canonical text.
TEST(ParseJsonTest, SurvivesRandomDamage) {
  constexpr std::string_view kWhole =
      R"({"a": [1, -2.5e3, 9223372036854775807, true], "b\u00e9": {"c": null, "": "x\\\"y"}})";
  std::random_device device;
  const std::uint64_t seed = device();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  int accepted = 0;
  for (int i = 0; i < 30000; ++i) {
    std::string text(kWhole);
    for (std::uint64_t change = random() % 4; change > 0; --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.insert(at, 1, "[]{}\",:0eE.-\\"[random() % 14]);
          break;
        case 2:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.resize(at);
      }
      if (text.empty()) break;
    }
    const std::string outcome = Outcome(text);
    if (outcome.starts_with("job.json: ")) continue;
    ++accepted;
    ASSERT_EQ(Outcome(outcome), outcome) << text;
  }
  EXPECT_GT(accepted, 1000);  // a quarter of the texts are whole
}

TEST(ReadJsonFileTest, ReadsAFileAndNamesIt) {
  const ScratchFile file(R"({"tensor": 8})");
  const Result<JsonDocument> document = ReadJsonFile(file.path());
  ASSERT_TRUE(document) << ToString(document.error());
  EXPECT_EQ(document->name, file.path());
  EXPECT_EQ(JsonCursor(*document).Integer("tensor"), 8);
}

TEST(ReadJsonFileTest, MissingFilesAndDirectoriesAreRefusedByName) {
  const Result<JsonDocument> missing = ReadJsonFile("no/such/job.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(ToString(missing.error()), "no/such/job.json: cannot open: No such file or directory");
  const Result<JsonDocument> directory = ReadJsonFile("/");
  ASSERT_FALSE(directory);
  EXPECT_EQ(ToString(directory.error()), "/: is a directory");
}

TEST(ReadJsonFileTest, TwoGigabytesAreRefusedWithoutBeingRead) {
  const ScratchFile file("[[[[");
  std::filesystem::resize_file(file.path(), std::uintmax_t{1} << 31);  // sparse: no disk is used
  const auto begin = std::chrono::steady_clock::now();
  const Result<JsonDocument> document = ReadJsonFile(file.path());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(document);
  EXPECT_EQ(ToString(document.error()), file.path() + ": larger than 268435456 bytes");
  EXPECT_LT(seconds.count(), 0.5);
}

TEST(ReadJsonFileTest, WhatHasNoSizeIsReadToTheLimitOnly) {
  // /dev/zero never ends.
  const Result<JsonDocument> document = ReadJsonFile("/dev/zero", {.bytes = 1 << 20});
  ASSERT_FALSE(document);
  EXPECT_EQ(ToString(document.error()), "/dev/zero: larger than 1048576 bytes");
}

}  // namespace
}  // namespace reshard
