#include "tools/plan_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two source ranks (0, 1) and two destination ranks (1, 2); rank 1 is of both sides.
Plan SmallPlan(std::int64_t bytes_of_each_class = 100) {
  Plan plan;
  plan.job_digest = "0123";
  plan.job.tensors = {{"a", DType::kU8, {2 * bytes_of_each_class}}};
  plan.job.ranks.resize(3);
  plan.job.ranks[0].source_group = 0;
  plan.job.ranks[1].source_group = 0;
  plan.job.ranks[1].destination_group = 0;
  plan.job.ranks[2].destination_group = 0;
  plan.demand.rank_sets = {{0, 1}, {1, 2}, {0}};
  plan.demand.classes = {{0, 1, bytes_of_each_class, 0, 1},   // held by 0, 1, needed by 1, 2
                         {2, 1, bytes_of_each_class, 1, 1}};  // held by 0, needed by 1, 2
  const std::vector<std::int64_t> extent = {bytes_of_each_class};
  for (const std::int64_t begin : {std::int64_t{0}, bytes_of_each_class}) {
    plan.demand.fragments.Add(0, bytes_of_each_class, std::vector<std::int64_t>{begin}, extent);
  }
  plan.round_count = 7;
  plan.certificate.lower_bound = {0.25, "LB2", "domain 1 ingress"};
  return plan;
}

TEST(Summarize, CountsNeedersThatHoldTheBytesOnceOnlyAsLogical) {
  const Result<PlanSummary> summary = Summarize(SmallPlan(), {640, 1, 4, 2, 0, 0}, 0.3);
  ASSERT_TRUE(summary) << ToString(summary.error());
  // Class 0 moves to rank 2 only (rank 1 holds it), class 1 to ranks 1 and 2: 100 + 200.
  EXPECT_EQ(summary->bytes, 300);
  EXPECT_EQ(summary->logical_bytes, 200);
  EXPECT_EQ(summary->tensors, 1);
  EXPECT_EQ(summary->fragments, 2);
  EXPECT_EQ(summary->classes, 2);
  EXPECT_EQ(summary->source_ranks, 2);
  EXPECT_EQ(summary->destination_ranks, 2);
  EXPECT_EQ(summary->rounds, 7);
  EXPECT_EQ(summary->staging_bytes_max, 640);
  EXPECT_EQ(summary->ops_per_group_max, 4);
  EXPECT_EQ(summary->peers_max, 2);
  EXPECT_EQ(summary->bound_by, "domain 1 ingress");
  ASSERT_TRUE(summary->gap);
  EXPECT_DOUBLE_EQ(*summary->gap, 0.2);  // 0.3 / 0.25 - 1
}

// 0.01 s for a part of the bytes says nothing about a bound of 0.25 s for all.
TEST(Summarize, NoGapWhereBytesAreLeftOut) {
  Plan plan = SmallPlan();
  plan.traffic.emplace();
  EXPECT_TRUE(Summarize(plan, {}, 0.3)->gap);
  plan.traffic->omissions = {{0, 1, "two sharded dims", 200}};
  const Result<PlanSummary> summary = Summarize(plan, {}, 0.01);
  ASSERT_TRUE(summary) << ToString(summary.error());
  EXPECT_FALSE(summary->gap);
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  AppendRows(*summary, {}, table);
  EXPECT_THAT(table.Text(), HasSubstr("none: bytes are left out"));
}

TEST(Summarize, RefusesBytesBeyond64Bits) {
  // The demand would be 3 * 2^62 bytes.
  EXPECT_FALSE(Summarize(SmallPlan(std::int64_t{1} << 62), {}, 1));
}

TEST(Gap, IsNoneAtBoundZero) {
  EXPECT_FALSE(Gap(1, 0));
  EXPECT_DOUBLE_EQ(*Gap(2, 1), 1);
}

TEST(AppendFields, NamesAreThoseOfTheReadmeInItsOrder) {
  JsonValue::Object fields;
  AppendFields(*Summarize(SmallPlan(), {}, 0.3), fields);
  std::vector<std::string> names;
  for (const JsonValue::Member& field : fields) names.push_back(field.first);
  EXPECT_THAT(names, ElementsAre("bytes", "logicalBytes", "tensors", "classes", "fragments",
                                 "lowerBoundSeconds", "boundBy", "predictedSeconds", "gap",
                                 "rounds", "stagingBytesMax", "opsPerGroupMax", "peersMax",
                                 "maxP2pPeers", "nChannelsPerNetPeer"));
}

TEST(AppendRows, ListsWhatStaysUntouchedShortly) {
  Plan plan = SmallPlan();
  plan.job.tensors[0].name = "layers.0.up";
  plan.notices.untouched = {"layers.1.down", "layers.1.up", "layers.2.down", "layers.2.up"};
  plan.notices.recompute = {"layers.{i}.W_UV"};
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  AppendRows(plan, table);
  EXPECT_EQ(table.Text(),
            "left untouched  4 tensors: layers.{1-2}.*\n"
            "recompute       layers.{i}.W_UV\n");
}

TEST(AppendRows, CutsALongListAndSaysSo) {
  Plan plan = SmallPlan();
  for (int group = 0; group < 30; ++group) {
    plan.notices.lacking.push_back("destination group " + std::to_string(group) +
                                   " lacks 1 tensor");
  }
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  AppendRows(plan, table);
  EXPECT_THAT(table.Text(), HasSubstr("group 23 lacks"));
  EXPECT_THAT(table.Text(), Not(HasSubstr("group 24 lacks")));
  EXPECT_THAT(table.Text(), HasSubstr("and 6 more lines, all under --json"));
}

}  // namespace
}  // namespace reshard
