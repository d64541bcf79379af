#include "simulator/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_directory.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string DefaultText() {
  std::ifstream file(SourceDirectory() + "/simulator/constants/default.json");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

// But for the last, which is fitted (simulator/FIDELITY.md).
// A round over the network costs launch + group + one hop of 14 us on GB200: 23.9 us.
TEST(ConstantsTest, DefaultsAreTheFieldNotes) {
  const Result<Constants> constants = DefaultConstants();
  ASSERT_TRUE(constants) << ToString(constants.error());
  EXPECT_EQ(*constants, (Constants{13.5, 8.4, 1.5, 32, 8, 14, 0.87, 5, 1200, 12, 128}));
  EXPECT_DOUBLE_EQ(constants->kernel_launch_us + constants->group_us + 14, 23.9);
}

TEST(ConstantsTest, AFileReplacesThem) {
  const Result<Constants> read =
      ReadConstants(SourceDirectory() + "/simulator/constants/default.json");
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(*read, *DefaultConstants());
  const Result<Constants> edited =
      ParseConstants(Replaced(DefaultText(), "\"value\": 8.4", "\"value\": 5"), "mine.json");
  ASSERT_TRUE(edited) << ToString(edited.error());
  EXPECT_EQ(edited->group_us, 5);
}

TEST(ConstantsTest, TheDigestIsOfValuesAlone) {
  const std::string digest = ConstantsDigest(*DefaultConstants());
  EXPECT_THAT(digest, MatchesRegex("[0-9a-f]{32}"));
  const Result<Constants> reworded =
      ParseConstants(Replaced(DefaultText(), "assumption", "measured"), "mine.json");
  EXPECT_EQ(ConstantsDigest(*reworded), digest);
  const Result<Constants> edited =
      ParseConstants(Replaced(DefaultText(), "\"value\": 8.4", "\"value\": 5"), "mine.json");
  EXPECT_NE(ConstantsDigest(*edited), digest);
}

TEST(ConstantsTest, BadFilesAreErrorsWithTheirPlace) {
  const auto error = [](const std::string& what, const std::string& by) {
    const Result<Constants> constants =
        ParseConstants(Replaced(DefaultText(), what, by), "mine.json");
    return constants ? std::string("none") : ToString(constants.error());
  };
  EXPECT_THAT(error("\"groupUs\"", "\"groupUss\""), HasSubstr("mine.json: constants"));
  EXPECT_THAT(error("\"groupUs\"", "\"groupUss\""), HasSubstr("groupUs"));
  EXPECT_THAT(error("\"value\": 8.4", "\"value\": -1"),
              HasSubstr("mine.json: constants.groupUs.value"));
  EXPECT_THAT(error("\"value\": 0.87", "\"value\": 1.5"),
              HasSubstr("mine.json: constants.copyHbmShare.value"));
  EXPECT_THAT(error("\"value\": 32,", "\"value\": 4.5,"),
              HasSubstr("mine.json: constants.channels.value"));
  EXPECT_THAT(error("\"date\": \"2026-06\"", "\"date\": \"\""),
              HasSubstr("mine.json: constants.networkChannelGBps.date"));
  EXPECT_THAT(error("\"unit\": \"GB/s\",", ""), HasSubstr("unit"));
  const Result<Constants> missing = ReadConstants("/nonexistent/constants.json");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().place, HasSubstr("/nonexistent/constants.json"));
}

}  // namespace
}  // namespace reshard
