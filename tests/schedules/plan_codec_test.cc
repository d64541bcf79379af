#include "schedules/plan_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "schedules/plan_container.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string Encoded(const Plan& plan) {
  const auto bytes = EncodePlan(plan);
  EXPECT_TRUE(bytes.has_value()) << ToString(bytes.error());
  return bytes.value_or("");
}

std::string RefusalOf(std::string_view bytes) {
  const auto plan = DecodePlan(bytes, "f.reshard");
  return plan ? "accepted" : ToString(plan.error());
}

// A file in the test's own folder, removed at its end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::path(::testing::TempDir()) / name) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  void Write(std::string_view bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  std::filesystem::path path_;
};

TEST(PlanCodecTest, APlanComesBackEqual) {
  for (const Plan& plan : {SmallPlan(), SmallInPlacePlan(), Plan{}}) {
    const auto back = DecodePlan(Encoded(plan), "f");
    ASSERT_TRUE(back.has_value()) << ToString(back.error());
    EXPECT_EQ(*back, plan);
    EXPECT_EQ(Encoded(*back), Encoded(plan));
  }
}

TEST(PlanCodecTest, EveryFieldOfARecordSurvives) {
  Plan plan = SmallPlan();
  plan.job.options = {"direct", 1, 2, 3, 4, 0.25};
  plan.job.tensors[1].dtype = DType::kU64;
  plan.job.tensors[2].name = std::string("\xff\0 not text", 11);
  plan.job.ranks[3] = {2000000000, 7, 9, 5, 6, 1, 2};
  plan.notices = {{"u1", "u2"}, {"l"}, {"r"}};
  plan.certificate.lower_bound = {1.25, "LB4", "\xc3\xa4 \xff"};
  plan.certificate.predicted_seconds = 2.5;
  plan.certificate.constants_digest = "digest";
  plan.certificate.staging_bytes_max = -1;
  plan.certificate.ops_per_group_max = INT64_MAX;
  plan.certificate.peers_max = 8;
  plan.channels = {INT64_MAX, -3};
  plan.profiles.push_back({{0, 0, 7, 7, 7, 0xFFFFFFFFU}});
  plan.profiles.push_back({});
  plan.columns.push_back({2, 2, INT64_MIN, INT64_MAX});
  plan.schedules[4].waits.push_back({Lane::kUnpack, Lane::kPack, INT32_MIN});
  plan.schedules[4].local_moves.push_back({3, INT32_MAX});
  plan.transfers[0].lag = -5;
  plan.round_count = INT32_MAX;
  const auto back = DecodePlan(Encoded(plan), "f");
  ASSERT_TRUE(back.has_value()) << ToString(back.error());
  EXPECT_EQ(*back, plan);
}

TEST(PlanCodecTest, APlanWhoseIndicesLeadNowhereIsNotWritten) {
  Plan plan = SmallPlan();
  plan.schedules[2].slots[0].items[1].column = 99;
  const auto bytes = EncodePlan(plan);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_THAT(ToString(bytes.error()), HasSubstr("rank 2, slot 0, item 1: there is no column 99"));
}

TEST(PlanCodecTest, OtherFilesAreRefusedByTheirHead) {
  EXPECT_THAT(RefusalOf(""), HasSubstr("f.reshard: this is not a plan"));
  EXPECT_THAT(RefusalOf("{\"cluster\": 1}"), HasSubstr("this is not a plan"));
  EXPECT_THAT(RefusalOf(std::string(1000, '\0')), HasSubstr("this is not a plan"));
  std::string text_mode = Encoded(SmallPlan());
  text_mode.insert(7, "\r");  // what a text transfer makes of a line end
  EXPECT_THAT(RefusalOf(text_mode), HasSubstr("this is not a plan"));
}

TEST(PlanCodecTest, ANewerSchemaIsRefusedByName) {
  std::string bytes = Encoded(SmallPlan());
  bytes[8] = 5;
  EXPECT_THAT(RefusalOf(bytes), HasSubstr("has schema version 5, this program reads up to 4"));
}

TEST(PlanCodecTest, EveryTruncationIsRefused) {
  const std::string bytes = Encoded(SmallPlan());
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THAT(RefusalOf(std::string_view(bytes).substr(0, size)), HasSubstr("truncated"))
        << size << " bytes";
  }
  EXPECT_THAT(RefusalOf(bytes + "x"), HasSubstr("has bytes behind it"));
}

TEST(PlanCodecTest, EveryFlippedBitIsRefused) {
  const std::string bytes = Encoded(SmallPlan());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_NE(RefusalOf(damaged), "accepted") << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(PlanCodecTest, DamageNamesItsSection) {
  std::string bytes = Encoded(SmallPlan());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_THAT(RefusalOf(bytes),
              HasSubstr("the section \"schedule of rank 4\" of the plan is damaged"));
}

// The sections of one file, those of `from` where `is_foreign` says so.
std::string Spliced(const std::string& file, const std::string& from,
                    const std::function<bool(const SectionRow&)>& is_foreign) {
  const auto table_of = [](const std::string& bytes) {
    const auto head = ReadContainerHead(std::string_view(bytes).substr(0, kContainerHeadBytes),
                                        bytes.size(), kPlanSchemaVersion, "f");
    return *ReadContainerTable(
        *head,
        std::string_view(bytes).substr(kContainerHeadBytes, kSectionRowBytes * head->section_count),
        bytes.size(), "f");
  };
  const std::vector<SectionRow> table = table_of(file);
  const std::vector<SectionRow> foreign = table_of(from);
  EXPECT_EQ(table.size(), foreign.size());
  ContainerWriter writer;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const bool take = is_foreign(table[i]);
    const SectionRow& row = take ? foreign[i] : table[i];
    writer.Add(row.kind, row.index, row.part, (take ? from : file).substr(row.offset, row.size));
  }
  return writer.Finish(kPlanSchemaVersion);
}

TEST(PlanCodecTest, ARankSectionThatSaysSomethingElseThanThePlanIsRefused) {
  // What rank 2 would replay (its relay two rounds late) is not what a verifier of the plan sees.
  Plan other = SmallPlan();
  other.transfers[2].lag = 3;
  const auto is_rank_2 = [](const SectionRow& row) {
    return row.kind == SectionKind::kRank && row.index == 2;
  };
  EXPECT_THAT(RefusalOf(Spliced(Encoded(SmallPlan()), Encoded(other), is_rank_2)),
              HasSubstr("the section of rank 2 says something else than the plan"));
  EXPECT_EQ(RefusalOf(Spliced(Encoded(SmallPlan()), Encoded(SmallPlan()), is_rank_2)), "accepted");
}

TEST(PlanCodecTest, ASectionTooManyOrTooFewIsRefused) {
  const std::string file = Encoded(SmallPlan());
  const auto head = ReadContainerHead(std::string_view(file).substr(0, kContainerHeadBytes),
                                      file.size(), kPlanSchemaVersion, "f");
  const auto table = ReadContainerTable(
      *head,
      std::string_view(file).substr(kContainerHeadBytes, kSectionRowBytes * head->section_count),
      file.size(), "f");
  const auto rewritten = [&](const std::function<bool(const SectionRow&)>& keep, bool add_rank) {
    ContainerWriter writer;
    for (const SectionRow& row : *table) {
      if (keep(row)) {
        writer.Add(row.kind, row.index, row.part, file.substr(row.offset, row.size));
      }
    }
    if (add_rank) writer.Add(SectionKind::kRank, 5, 0, "");
    return writer.Finish(kPlanSchemaVersion);
  };
  const auto all = [](const SectionRow&) { return true; };
  EXPECT_EQ(RefusalOf(rewritten(all, false)), "accepted");
  EXPECT_THAT(RefusalOf(rewritten(all, true)), HasSubstr("belong to no layout or rank"));
  EXPECT_THAT(RefusalOf(rewritten(
                  [](const SectionRow& row) { return row.kind != SectionKind::kTensors; }, false)),
              HasSubstr("the plan has 0 sections \"tensors\", not one"));
  EXPECT_THAT(
      RefusalOf(rewritten([](const SectionRow& row) { return row.kind != SectionKind::kTransfers; },
                          false)),
      HasSubstr("the section of rank 0 says something else than the plan"));
}

TEST(PlanFileTest, AFileIsReadAsWritten) {
  const TemporaryFile file("plan_file_test.reshard");
  const auto written = WritePlanFile(SmallPlan(), file.path());
  ASSERT_TRUE(written.has_value()) << ToString(written.error());
  EXPECT_EQ(*written, static_cast<std::int64_t>(std::filesystem::file_size(file.path())));
  const auto back = ReadPlanFile(file.path());
  ASSERT_TRUE(back.has_value()) << ToString(back.error());
  EXPECT_EQ(*back, SmallPlan());
}

TEST(PlanFileTest, NothingIsLeftWhereAFileCannotBeWritten) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "plan_file_test_folder";
  std::filesystem::create_directory(folder);
  // The name is taken by a folder, so the rename fails after all bytes are written.
  std::filesystem::create_directory(folder / "taken");
  const auto written = WritePlanFile(SmallPlan(), (folder / "taken").string());
  EXPECT_FALSE(written.has_value());
  const auto begin = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin, std::filesystem::directory_iterator()), 1);
  std::filesystem::remove_all(folder);
  const auto missing = WritePlanFile(SmallPlan(), (folder / "missing" / "p").string());
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(ToString(missing.error()), HasSubstr("cannot write the plan"));
}

TEST(PlanFileTest, ARanksPartIsWhatExtractionGives) {
  const TemporaryFile file("rank_part_test.reshard");
  for (const Plan& plan : {SmallPlan(), SmallInPlacePlan()}) {
    ASSERT_TRUE(WritePlanFile(plan, file.path()).has_value());
    for (RankIndex rank = 0; rank < 5; ++rank) {
      const auto part = ReadRankPart(file.path(), rank);
      ASSERT_TRUE(part.has_value()) << ToString(part.error());
      EXPECT_EQ(*part, ExtractRankPart(plan, rank)) << "rank " << rank;
    }
    for (const RankIndex rank : {-1, 5, INT32_MAX}) {
      const auto part = ReadRankPart(file.path(), rank);
      ASSERT_FALSE(part.has_value());
      EXPECT_THAT(ToString(part.error()), HasSubstr("the plan has no rank"));
    }
  }
}

TEST(PlanFileTest, ChannelHintsCanBeReadAlone) {
  const TemporaryFile file("channel_hints_test.reshard");
  Plan plan = SmallPlan();
  plan.channels = {77, 16};
  ASSERT_TRUE(WritePlanFile(plan, file.path()).has_value());
  const auto hints = ReadChannelHints(file.path());
  ASSERT_TRUE(hints.has_value()) << ToString(hints.error());
  EXPECT_EQ(*hints, plan.channels);
}

TEST(PlanFileTest, MissingFilesAndFoldersAreNamed) {
  const std::string folder = ::testing::TempDir();
  EXPECT_THAT(ToString(ReadPlanFile("no/such/plan").error()),
              HasSubstr("no/such/plan: cannot read the plan: No such file"));
  EXPECT_THAT(ToString(ReadPlanFile(folder).error()), HasSubstr("not a regular file"));
  EXPECT_THAT(ToString(ReadRankPart("no/such/plan", 0).error()), HasSubstr("No such file"));
  EXPECT_THAT(ToString(ReadChannelHints("no/such/plan").error()), HasSubstr("No such file"));
}

}  // namespace
}  // namespace reshard
