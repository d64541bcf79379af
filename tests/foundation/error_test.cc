#include "foundation/error.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(ErrorTest, OneLineNamesPlaceReasonAndRemedy) {
  const Error error{Fault::kInput, "job.json: options", "no such planner", "use 'optimal'"};
  EXPECT_EQ(ToString(error), "job.json: options: no such planner; use 'optimal'");
}

TEST(ErrorTest, EmptyPartsLeaveNoPunctuation) {
  EXPECT_EQ(ToString(Error{Fault::kRun, "", "peer 3 is gone", ""}), "peer 3 is gone");
  EXPECT_EQ(ToString(Error{Fault::kRun, "round 7", "peer 3 is gone", ""}),
            "round 7: peer 3 is gone");
}

TEST(ErrorTest, NamesFromInputCannotBreakTheLine) {
  EXPECT_EQ(ToString(Error{Fault::kInput, "a\nb", "field '\x1b[31m\x7f' is \xc3\xa9", "x\r"}),
            "a?b: field '?[31m?' is \xc3\xa9; x?");
}

TEST(ErrorTest, FaultsAreExitStatuses) {
  EXPECT_EQ(static_cast<int>(InputError("", "").value().fault), 1);
  EXPECT_EQ(static_cast<int>(Fault::kUsage), 2);
  EXPECT_EQ(static_cast<int>(InternalError("", "").value().fault), 3);
  EXPECT_EQ(static_cast<int>(RunError("", "").value().fault), 4);
}

}  // namespace
}  // namespace reshard
