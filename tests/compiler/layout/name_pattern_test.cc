#include "compiler/layout/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

NamePattern Pattern(std::string_view text) { return *NamePattern::Parse(text); }

TEST(NamePatternTest, TextStandsForItself) {
  EXPECT_TRUE(Pattern("lm_head.weight").Matches("lm_head.weight"));
  EXPECT_FALSE(Pattern("lm_head.weight").Matches("lm_head.weights"));
  EXPECT_FALSE(Pattern("lm_head.weight").Matches("Xlm_head.weight"));
}

TEST(NamePatternTest, StarTakesDotsAndNothing) {
  EXPECT_TRUE(Pattern("*").Matches("a.b.c"));
  EXPECT_TRUE(Pattern("*").Matches(""));
  EXPECT_TRUE(Pattern("*.weight").Matches("a.b.weight"));
  EXPECT_FALSE(Pattern("*.weight").Matches("weight"));
  EXPECT_TRUE(Pattern("a*b*c").Matches("abc"));
  EXPECT_TRUE(Pattern("a*b*c").Matches("a.b.b.c"));
  EXPECT_FALSE(Pattern("a*b*c").Matches("acb"));
}

TEST(NamePatternTest, PieceTakesNoDotAndNotNothing) {
  EXPECT_THAT(Pattern("layers.{i}.x").Match("layers.17.x"), Optional(ElementsAre("17")));
  EXPECT_FALSE(Pattern("layers.{i}.x").Matches("layers..x"));
  EXPECT_FALSE(Pattern("layers.{i}.x").Matches("layers.1.2.x"));
  EXPECT_THAT(Pattern("*.layers.{i}.experts.{e}.*").Match("model.layers.3.experts.12.up.weight"),
              Optional(ElementsAre("3", "12")));
  EXPECT_THAT(Pattern("w{e}").Match("w12"), Optional(ElementsAre("12")));
}

TEST(NamePatternTest, FillPutsValuesInPlace) {
  const std::vector<std::string_view> values = {"3", "gate"};
  EXPECT_EQ(Pattern("layers.{i}.{part}.weight").Fill(values), "layers.3.gate.weight");
}

TEST(NamePatternTest, RefusalsSayWhat) {
  const auto reason = [](std::string_view text) { return NamePattern::Parse(text).error().reason; };
  EXPECT_EQ(reason("a{b"), "pattern 'a{b': '{' without '}'");
  EXPECT_EQ(reason("a}b"), "pattern 'a}b': '}' without '{'");
  EXPECT_EQ(reason("a{}b"), "pattern 'a{}b': '{}' has no name");
  EXPECT_EQ(reason("a{i}.{i}"), "pattern 'a{i}.{i}': {i} stands twice in it");
  EXPECT_EQ(reason("a{{i}"), "pattern 'a{{i}': '{' inside '{..}'");
}

// Every star of "*a*a*..*b" could end anywhere: tried out it would take 40^20 steps.
TEST(NamePatternTest, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 20; ++i) pattern += "*a";
  EXPECT_FALSE(Pattern(pattern + "b").Matches(std::string(400, 'a')));
  EXPECT_TRUE(Pattern(pattern).Matches(std::string(400, 'a')));
}

// The oracle tries every way, on names and patterns over two letters and the dot.
bool MatchesSomehow(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    for (std::size_t n = 0; n <= name.size(); ++n) {
      if (MatchesSomehow(pattern.substr(1), name.substr(n))) return true;
    }
    return false;
  }
  if (pattern[0] == '{') {
    const std::size_t close = pattern.find('}');
    for (std::size_t n = 1; n <= name.size() && name[n - 1] != '.'; ++n) {
      if (MatchesSomehow(pattern.substr(close + 1), name.substr(n))) return true;
    }
    return false;
  }
  return !name.empty() && name[0] == pattern[0] &&
         MatchesSomehow(pattern.substr(1), name.substr(1));
}

TEST(NamePatternTest, EqualsTryingEveryWay) {
  std::mt19937_64 random(20260101);
  const auto pick = [&](int n) {
    return static_cast<std::size_t>(random() % static_cast<unsigned>(n));
  };
  int matches = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string pattern;
    int pieces = 0;
    for (std::size_t n = pick(7); n-- > 0;) {
      const std::size_t kind = pick(6);
      if (kind < 3) pattern += "ab."[kind];
      if (kind == 3 || kind == 4) pattern += '*';
      if (kind == 5) pattern.append("{p").append(std::to_string(pieces++)).append("}");
    }
    std::string name;
    for (std::size_t n = pick(8); n-- > 0;) name += "ab."[pick(3)];
    const bool expected = MatchesSomehow(pattern, name);
    matches += expected ? 1 : 0;
    ASSERT_EQ(Pattern(pattern).Matches(name), expected) << pattern << " on " << name;
  }
  EXPECT_GT(matches, 1000);
}

TEST(NamePatternTest, PiecesAreOrderedAsNumbersFirst) {
  std::vector<std::string_view> pieces = {"b", "10", "9", "a", "010", "0", "100000000000000000000"};
  std::sort(pieces.begin(), pieces.end(), PieceLess);
  EXPECT_THAT(pieces, ElementsAre("0", "9", "010", "10", "100000000000000000000", "a", "b"));
}

}  // namespace
}  // namespace reshard
