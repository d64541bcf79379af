// Hostile files: damage that the hashes do not show, since they were made anew.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/description.h"
#include "schedules/plan_codec.h"
#include "schedules/plan_container.h"
#include "schedules/verifier.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

// Damages one section and writes the file again, with right hashes.
std::string Rewritten(const std::string& file, std::mt19937& random) {
  const auto head = ReadContainerHead(std::string_view(file).substr(0, kContainerHeadBytes),
                                      file.size(), kPlanSchemaVersion, "f");
  const auto table = ReadContainerTable(
      *head,
      std::string_view(file).substr(kContainerHeadBytes, kSectionRowBytes * head->section_count),
      file.size(), "f");
  const std::size_t chosen = random() % table->size();
  ContainerWriter writer;
  for (std::size_t i = 0; i < table->size(); ++i) {
    const SectionRow& row = (*table)[i];
    std::string bytes = file.substr(row.offset, row.size);
    for (std::uint32_t flips = i == chosen ? 1 + random() % 3 : 0; flips > 0; --flips) {
      if (bytes.empty()) break;
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          bytes.erase(at, 1);
      }
    }
    writer.Add(row.kind, row.index, row.part, bytes);
  }
  return writer.Finish(kPlanSchemaVersion);
}

TEST(PlanFuzzTest, RewrittenFilesNeverCrashReaderVerifierOrDescription) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string sounds[] = {*EncodePlan(SmallInPlacePlan()), *EncodePlan(SmallTrafficPlan())};
  int decoded = 0;
  int accepted = 0;
  for (int trial = 0; trial < 30000; ++trial) {
    const auto plan = DecodePlan(Rewritten(sounds[trial % 2], random), "f");
    if (!plan) {
      ASSERT_FALSE(plan.error().reason.empty());
      continue;
    }
    ++decoded;
    if (!Verify(*plan)) continue;
    ++accepted;
    for (RankIndex rank = 0; rank < 5; ++rank)
      ASSERT_FALSE(Text(DescribeRank(*plan, rank)).empty());
  }
  // Both the verifier and what follows it were reached.
  EXPECT_GT(decoded, 1000);
  EXPECT_GT(accepted, 100);
}

TEST(PlanFuzzTest, FlippedBytesNeverCrashTheReader) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string sound = *EncodePlan(SmallPlan());
  for (int trial = 0; trial < 5000; ++trial) {
    std::string damaged = sound;
    for (std::uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (damaged == sound) continue;
    EXPECT_FALSE(DecodePlan(damaged, "f").has_value());
  }
}

TEST(PlanFuzzTest, AFewBytesCannotAskForMuchMemory) {
  // A profile of 2^32 - 1 chunks in one run takes ten bytes in the file and 16 GiB in memory.
  Plan plan = SmallPlan();
  const std::string sound = *EncodePlan(plan);
  // The schedule's section holds profiles in field 1: runs {1}, weights {2^30}, repeats {4}.
  const std::string profile("\x0a\x01\x01\x12\x05\x80\x80\x80\x80\x04\x1a\x01\x04", 13);
  const std::string hostile("\x0a\x01\x01\x12\x01\x00\x1a\x05\xff\xff\xff\xff\x0f", 13);
  const std::size_t at = sound.find(profile);
  ASSERT_NE(at, std::string::npos);
  std::string file = sound;
  file.replace(at, profile.size(), hostile);
  const auto head = ReadContainerHead(std::string_view(sound).substr(0, kContainerHeadBytes),
                                      sound.size(), kPlanSchemaVersion, "f");
  const auto table = ReadContainerTable(
      *head,
      std::string_view(sound).substr(kContainerHeadBytes, kSectionRowBytes * head->section_count),
      sound.size(), "f");
  ContainerWriter writer;
  for (const SectionRow& row : *table) {
    writer.Add(row.kind, row.index, row.part, file.substr(row.offset, row.size));
  }
  const auto refused = DecodePlan(writer.Finish(kPlanSchemaVersion), "f");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().reason.find("more memory than a file of its size may"),
            std::string::npos)
      << refused.error().reason;
}

}  // namespace
}  // namespace reshard
