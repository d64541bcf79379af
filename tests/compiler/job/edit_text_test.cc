#include "compiler/job/edit_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reshard {
namespace {

std::string Refusal(std::string_view text) {
  const Result<std::vector<JobEdit>> edits = ParseJobEdits(text);
  if (edits) return "accepted";
  EXPECT_EQ(edits.error().fault, Fault::kUsage);
  return ToString(edits.error());
}

TEST(EditText, ReadsParts) {
  const std::vector<JobEdit> edits =
      ParseJobEdits(" nic 17 = 0;nic 17*0.5 ;; domain 2 nvlink*0.5; gpu 0-1,9 dead; rail 3=24;")
          .value();
  ASSERT_EQ(edits.size(), 5);
  EXPECT_EQ(edits[0].part, EditPart::kNic);
  EXPECT_EQ(edits[0].numbers, (std::vector<std::int32_t>{17}));
  EXPECT_EQ(edits[0].action, EditAction::kSet);
  EXPECT_EQ(edits[0].value, "0");
  EXPECT_EQ(edits[1].action, EditAction::kScale);
  EXPECT_EQ(NumberOf(edits[1]).value(), 0.5);
  EXPECT_EQ(edits[2].part, EditPart::kDomain);
  EXPECT_EQ(edits[2].name, "nvlink");
  EXPECT_EQ(edits[3].part, EditPart::kGpu);
  EXPECT_EQ(edits[3].numbers, (std::vector<std::int32_t>{0, 1, 9}));
  EXPECT_EQ(edits[3].action, EditAction::kKill);
  EXPECT_EQ(edits[4].part, EditPart::kRail);
  EXPECT_EQ(edits[4].text, "rail 3=24");
}

TEST(EditText, ReadsKeys) {
  const std::vector<JobEdit> edits =
      ParseJobEdits("destination.tensor=16; nicGBps*2;source.layersPerStage=[1, 4]").value();
  ASSERT_EQ(edits.size(), 3);
  EXPECT_EQ(edits[0].part, EditPart::kKey);
  EXPECT_EQ(edits[0].name, "destination.tensor");
  EXPECT_EQ(edits[0].value, "16");
  EXPECT_EQ(edits[1].action, EditAction::kScale);
  EXPECT_EQ(edits[2].value, "[1, 4]");
}

TEST(EditText, RefusesWhatSaysNothing) {
  EXPECT_EQ(Refusal(""), "a scenario without an edit; for example 'nic 17=0; gpu 9 dead'");
  EXPECT_EQ(Refusal(" ; "), Refusal(""));
  EXPECT_EQ(Refusal("gpu 3"),
            "edit 'gpu 3': changes nothing; write =VALUE, *FACTOR or, of a part, dead");
  EXPECT_EQ(Refusal("nic 3="), "edit 'nic 3=': nothing follows =; give a value");
  EXPECT_EQ(Refusal("=4"), "edit '=4': does not say what changes; name a part or a key");
}

TEST(EditText, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Refusal("nick 3=0"), "edit 'nick 3=0': there is no part 'nick'; did you mean 'nic'?");
  EXPECT_EQ(Refusal("gpu 3=4"),
            "edit 'gpu 3=4': does not say what of the gpu; write gpu 3 nvlink or nic");
  EXPECT_EQ(Refusal("gpu 3 nvlnk=4"),
            "edit 'gpu 3 nvlnk=4': a gpu has no 'nvlnk'; did you mean 'nvlink'?");
  EXPECT_EQ(Refusal("nic 3 rate=4"),
            "edit 'nic 3 rate=4': 'rate' has no place there; write nic 3=VALUE");
  EXPECT_EQ(Refusal("gpu 3 nic dead"),
            "edit 'gpu 3 nic dead': 'nic' has no place there; write gpu 3 dead");
  EXPECT_EQ(Refusal("gpu x dead"),
            "edit 'gpu x dead': 'x' is no index and no range of indices; write a list such as "
            "\"0-63,128-191\"");
}

TEST(EditText, NumbersAreWholeTextsOfAtLeastZero) {
  for (const char* text : {"a=1x", "a=-1", "a=nan", "a=inf", "a=1e999", "a=0x10", "a= "}) {
    const Result<std::vector<JobEdit>> edits = ParseJobEdits(text);
    if (edits) {
      EXPECT_FALSE(NumberOf(edits->front())) << text;
    }
  }
  EXPECT_EQ(NumberOf(ParseJobEdits("a=1e3").value().front()).value(), 1000);
}

}  // namespace
}  // namespace reshard
