#include "schedules/drawing/markup_text.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(EscapeMarkup, WhatMarkupGivesAMeaningShowsAsItIs) {
  EXPECT_EQ(EscapeMarkup("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(EscapeMarkup("model.layers.0 \xc3\xa9"), "model.layers.0 \xc3\xa9");
}

TEST(EscapeMarkup, IsOneLineWithoutControlCharacters) {
  EXPECT_EQ(EscapeMarkup("a\nb\tc\x01"), "a b c ");
}

}  // namespace
}  // namespace reshard
