#include "schedules/plan_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string SmallFile() {
  ContainerWriter writer;
  writer.Add(SectionKind::kHeader, 0, 0, "head");
  writer.Add(SectionKind::kRegions, 2, 0, "first");
  writer.Add(SectionKind::kRegions, 2, 1, "");
  writer.Add(SectionKind::kRank, 7, 0, "rank");
  return writer.Finish(/*schema_version=*/3);
}

Result<std::vector<SectionRow>> TableOf(const std::string& file) {
  const auto head =
      ReadContainerHead(std::string_view(file).substr(0, kContainerHeadBytes), file.size(), 3, "f");
  if (!head) return tl::unexpected(head.error());
  return ReadContainerTable(
      *head,
      std::string_view(file).substr(kContainerHeadBytes, kSectionRowBytes * head->section_count),
      file.size(), "f");
}

TEST(PlanContainerTest, SectionsAreFoundWhereTheyLie) {
  const std::string file = SmallFile();
  const auto table = TableOf(file);
  ASSERT_TRUE(table.has_value()) << ToString(table.error());
  ASSERT_EQ(table->size(), 4U);
  EXPECT_EQ(file.substr((*table)[1].offset, (*table)[1].size), "first");
  EXPECT_EQ((*table)[0].offset, kContainerHeadBytes + 4 * kSectionRowBytes);
  const auto regions = FindSections(*table, SectionKind::kRegions, 2, "f");
  ASSERT_TRUE(regions.has_value());
  EXPECT_EQ(regions->size(), 2U);
  EXPECT_TRUE(FindSections(*table, SectionKind::kRegions, 3, "f")->empty());
  EXPECT_TRUE(CheckSection((*table)[3], "rank", "f").has_value());
  EXPECT_THAT(ToString(CheckSection((*table)[3], "rang", "f").error()),
              HasSubstr("f: the section \"schedule of rank 7\" of the plan is damaged"));
}

TEST(PlanContainerTest, AMissingPartIsNamed) {
  ContainerWriter writer;
  writer.Add(SectionKind::kFragments, 0, 1, "second");
  const auto table = TableOf(writer.Finish(3));
  ASSERT_TRUE(table.has_value());
  const auto found = FindSections(*table, SectionKind::kFragments, 0, "f");
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(ToString(found.error()), HasSubstr("lacks a part of its fragments"));
}

TEST(PlanContainerTest, SectionsOutOfOrderAreRefused) {
  ContainerWriter writer;
  writer.Add(SectionKind::kRank, 0, 0, "a");
  writer.Add(SectionKind::kHeader, 0, 0, "b");
  const auto table = TableOf(writer.Finish(3));
  ASSERT_FALSE(table.has_value());
  EXPECT_THAT(ToString(table.error()), HasSubstr("not one that reshard writes"));
}

TEST(PlanContainerTest, OlderAndNewerSchemasAreToldApart) {
  const std::string file = SmallFile();
  const std::string_view head = std::string_view(file).substr(0, kContainerHeadBytes);
  EXPECT_THAT(ToString(ReadContainerHead(head, file.size(), 2, "f").error()),
              HasSubstr("has schema version 3, this program reads up to 2"));
  EXPECT_THAT(ToString(ReadContainerHead(head, file.size(), 4, "f").error()),
              HasSubstr("has schema version 3, this program reads 4"));
}

TEST(PlanContainerTest, NumbersAreLittleEndian) {
  const std::string file = SmallFile();
  EXPECT_EQ(file.substr(0, 8), std::string("\x89RSHPLN\n", 8));
  EXPECT_EQ(file.substr(8, 8), std::string("\x03\0\0\0\x04\0\0\0", 8));
}

}  // namespace
}  // namespace reshard
