#include "runtime/nccl/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two racks of two hosts of two GPUs, NVLink across each rack.
std::vector<RankFacts> TwoRacks() {
  std::vector<RankFacts> ranks(8);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankFacts& facts = ranks[rank];
    facts.schema_version = 1;
    facts.node = static_cast<std::int32_t>(rank / 2);
    facts.domain = static_cast<std::int32_t>(rank / 4);
    const std::string host = "host" + std::to_string(rank / 2);
    std::memcpy(facts.host.data(), host.data(), host.size());
    facts.gpu[0] = static_cast<std::uint8_t>(rank + 1);
    facts.fabric_cluster[0] = 9;
    facts.fabric_clique = static_cast<std::uint32_t>(rank / 4);
  }
  return ranks;
}

TEST(PlacementTest, TakesRanksThatSitAsPlanned) {
  EXPECT_TRUE(CheckPlacement(TwoRacks()));
  EXPECT_TRUE(CheckPlacement({}));
}

// Without a fabric NVLink ends at the host.
TEST(PlacementTest, AHostIsADomainWhereThereIsNoFabric) {
  std::vector<RankFacts> ranks = TwoRacks();
  for (RankFacts& facts : ranks) {
    facts.fabric_cluster = {};
    facts.fabric_clique = 0;
  }
  const Result<void> checked = CheckPlacement(ranks);
  ASSERT_FALSE(checked);
  EXPECT_THAT(ToString(checked.error()),
              AllOf(HasSubstr("rank 2: sits elsewhere"), HasSubstr("shares an NVLink domain"),
                    HasSubstr("with rank 0, here it does not")));
  for (RankFacts& facts : ranks) facts.domain = facts.node;
  EXPECT_TRUE(CheckPlacement(ranks));
}

// A plan that takes each host for a domain, on racks with one fabric: it uses less than there is.
TEST(PlacementTest, APlanMayDivideAFabric) {
  std::vector<RankFacts> ranks = TwoRacks();
  for (RankFacts& facts : ranks) {
    facts.domain = facts.node;
    facts.fabric_clique = 0;
  }
  EXPECT_TRUE(CheckPlacement(ranks));
}

// Two ranks of one host in different parts of the fabric, as the fabric manager may say: NVLink
// connects what is on one host.
TEST(PlacementTest, AHostIsADomainWhateverTheFabricSays) {
  std::vector<RankFacts> ranks = TwoRacks();
  for (RankFacts& facts : ranks) facts.domain = facts.node;
  ranks[1].fabric_clique = 7;
  ranks[3].fabric_cluster = {};
  EXPECT_TRUE(CheckPlacement(ranks));
}

// Four GPUs of one host, NVLink bridges between two and two: the plan has two domains.
TEST(PlacementTest, IslandsOfNvlinkOnOneHostAreDomains) {
  std::vector<RankFacts> ranks(4);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].node = ranks[rank].domain = static_cast<std::int32_t>(rank / 2);
    ranks[rank].host[0] = 'h';
    ranks[rank].gpu[0] = static_cast<std::uint8_t>(rank + 1);
    ranks[rank].island = ranks[rank / 2 * 2].gpu;
  }
  EXPECT_TRUE(CheckPlacement(ranks));
  // NVLink between all four, or who knows: then two hosts were meant.
  for (const Uuid& island : {ranks[0].gpu, Uuid{}}) {
    ranks[2].island = ranks[3].island = island;
    const Result<void> checked = CheckPlacement(ranks);
    ASSERT_FALSE(checked);
    EXPECT_THAT(ToString(checked.error()),
                AllOf(HasSubstr("rank 2: sits elsewhere"),
                      HasSubstr("does not share a node with rank 0, here it does")));
  }
}

TEST(PlacementTest, NamesTheFirstRankThatSitsElsewhere) {
  struct Case {
    std::function<void(std::vector<RankFacts>&)> change;
    std::string wanted;
  };
  const std::vector<Case> cases = {
      {[](auto& ranks) { std::swap(ranks[1].host, ranks[6].host); }, "rank 1: sits elsewhere"},
      {[](auto& ranks) { ranks[5].host = ranks[1].host; }, "rank 5: sits elsewhere"},
      {[](auto& ranks) { ranks[3].host[0] = 'x'; }, "rank 3: sits elsewhere"},
      {[](auto& ranks) { ranks[7].fabric_clique = 0; }, "rank 7: sits elsewhere"},
      {[](auto& ranks) { ranks[2].fabric_cluster[1] = 1; }, "rank 2: sits elsewhere"},
      {[](auto& ranks) { ranks[4].gpu = ranks[1].gpu; }, "rank 4: has the same GPU as rank 1"},
  };
  for (const Case& wrong : cases) {
    std::vector<RankFacts> ranks = TwoRacks();
    wrong.change(ranks);
    const Result<void> checked = CheckPlacement(ranks);
    ASSERT_FALSE(checked) << wrong.wanted;
    EXPECT_THAT(ToString(checked.error()), HasSubstr(wrong.wanted));
  }
}

TEST(PlacementTest, RefusesOtherPlansAndOtherVersions) {
  std::vector<RankFacts> ranks = TwoRacks();
  EXPECT_TRUE(CheckSamePlan(ranks));
  ranks[6].job_digest[0] = 'f';
  EXPECT_THAT(ToString(CheckSamePlan(ranks).error()), HasSubstr("rank 6: its plan is of job f"));
  ranks[5].schema_version = 2;
  EXPECT_THAT(ToString(CheckSamePlan(ranks).error()),
              HasSubstr("rank 5: knows plans of schema version 2"));
}

TEST(PlacementTest, TellsWhatThePlanSaysOfARank) {
  const RankPart part = ExtractRankPart(SmallPlan(), 1);
  MachineFacts machine;
  machine.host = "a host with a name that is much longer than what is told to the other ranks";
  machine.gpu[3] = 7;
  const RankFacts facts = FactsOf(part, machine);
  EXPECT_EQ(facts.is_source, 1u);
  EXPECT_EQ(facts.is_destination, 1u);
  EXPECT_EQ(facts.domain, 0);
  EXPECT_EQ(facts.gpu[3], 7);
  EXPECT_EQ(std::string(facts.host.data(), facts.host.size()), machine.host.substr(0, 64));
}

TEST(PlacementTest, ReadsThisMachine) {
  const Result<MachineFacts> first = ReadMachineFacts(0);
  const Result<MachineFacts> second = ReadMachineFacts(1);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->host.empty());
  EXPECT_LE(first->host.size(), 64u);
  EXPECT_EQ(first->host, second->host);
  // The boot's identity and nothing else: containers have names of their own.
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (!boot.empty()) {
    EXPECT_EQ(first->host, boot);
  }
  // The doubles' GPUs are those of one node with NVLink.
  EXPECT_EQ(first->island, first->gpu);
  EXPECT_EQ(second->island, first->gpu);
  EXPECT_NE(first->gpu, second->gpu);
  EXPECT_THAT(ToString(ReadMachineFacts(99).error()), HasSubstr("GPU 99"));
}

}  // namespace
}  // namespace reshard
