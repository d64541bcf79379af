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

// By the field notes, or by the source that the file names; but for one that is fitted
// (simulator/FIDELITY.md). A round over the network costs launch + group + one hop of 14 us on
// GB200: 23.9 us.
TEST(ConstantsTest, DefaultsAreTheFieldNotes) {
  const Result<Constants> constants = DefaultConstants();
  ASSERT_TRUE(constants) << ToString(constants.error());
  Constants wanted;
  wanted.network_channel_gbps = 13.5;
  wanted.nvlink_channel_share = 0.1;
  wanted.network_step_kib = 128;
  wanted.nvlink_step_kib = 512;
  wanted.ll_kib = 16;
  wanted.ll_nvlink_latency_share = 0.18;
  wanted.ll_network_latency_share = 0.19;
  wanted.pxn = 1;
  wanted.host_node_us = 10;
  wanted.group_us = 8.4;
  wanted.kernel_launch_us = 1.5;
  wanted.channels = 32;
  wanted.operations_per_channel = 8;
  wanted.batch_us = 14;
  wanted.copy_hbm_share = 0.87;
  wanted.eager_launch_us = 5;
  wanted.host_synchronization_us = 1200;
  wanted.nvlink_connection_mib = 12;
  wanted.network_pool_mib = 128;
  EXPECT_EQ(*constants, wanted);
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

// Else a prediction could be below the bound, which counts these (schedules/shortest_hop.h).
TEST(ConstantsTest, NoHopIsShorterThanTheBounds) {
  EXPECT_TRUE(
      ParseConstants(Replaced(DefaultText(), "\"value\": 0.18", "\"value\": 0.17"), "mine.json"));
  const Result<Constants> nvlink =
      ParseConstants(Replaced(DefaultText(), "\"value\": 0.18", "\"value\": 0.16"), "mine.json");
  ASSERT_FALSE(nvlink);
  EXPECT_THAT(
      ToString(nvlink.error()),
      HasSubstr("llNvlinkLatencyShare.value: must be at least 0.17 and at most 1, got 0.16"));
  const Result<Constants> network =
      ParseConstants(Replaced(DefaultText(), "\"value\": 0.19", "\"value\": 0.1"), "mine.json");
  ASSERT_FALSE(network);
  EXPECT_THAT(
      ToString(network.error()),
      HasSubstr("llNetworkLatencyShare.value: must be at least 0.19 and at most 1, got 0.1"));
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
  EXPECT_THAT(error("\"value\": 32,", "\"value\": 65,"), HasSubstr("must be from 1 to 64, got 65"));
  EXPECT_THAT(error("\"value\": 8,", "\"value\": 4611686018427387904,"),
              HasSubstr("mine.json: constants.operationsPerChannel.value"));
  EXPECT_THAT(error("\"date\": \"2026-06\"", "\"date\": \"\""),
              HasSubstr("mine.json: constants.groupUs.date"));
  EXPECT_THAT(error("\"value\": 1,", "\"value\": 3,"), HasSubstr("mine.json: constants.pxn.value"));
  EXPECT_THAT(error("\"unit\": \"GB/s\",", ""), HasSubstr("unit"));
  const Result<Constants> missing = ReadConstants("/nonexistent/constants.json");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().place, HasSubstr("/nonexistent/constants.json"));
}

}  // namespace
}  // namespace reshard
