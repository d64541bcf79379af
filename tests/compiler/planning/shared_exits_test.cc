#include "compiler/planning/shared_exits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMB = 1'000'000;

// Ranks 0, 1, 2 share a domain, 3 has another. Rank 0 alone holds class 0, which all others lack:
// a local group of 1 and 2 and a network group of 3.
class SharedExits : public ::testing::Test {
 protected:
  SharedExits() {
    resources_.domain = {0, 0, 0, 1};
    deliveries_.groups.push_back({true, {{0, {1, 2}}}, {{0, {0}}}, 8 * kMB});
    deliveries_.groups.push_back({false, {{1, {3}}}, {{0, {0}}}, 8 * kMB});
    routes_.paths.push_back({{{0, 1, kFromSender}, {0, 2, kFromSender}}});
    routes_.paths.push_back({{{0, 3, kFromSender}}});
    routes_.columns.push_back({0, 0, 8 * kMB, 0, 0, 0, 0});
  }

  RankResources resources_;
  Deliveries deliveries_;
  Routes routes_;
};

// Rank 1 passes on [2, 5) MB: it keeps them and hands them to 2, and the local column is what is
// before and what is behind.
TEST_F(SharedExits, AnExitThatLacksTheBytesKeepsThem) {
  routes_.columns.push_back({0, 0, 2 * kMB, 0, 0, 1, 1});
  routes_.columns.push_back({0, 2 * kMB, 5 * kMB, 0, 1, 1, 1});
  routes_.columns.push_back({0, 5 * kMB, 8 * kMB, 0, 0, 1, 1});
  ShareExits(deliveries_, resources_, routes_);
  ASSERT_EQ(routes_.columns.size(), 5U);
  const RoutedColumn& shared = routes_.columns[3];
  EXPECT_EQ(shared.local_group, 0);
  const std::vector<PathHop>& hops = routes_.paths[static_cast<std::size_t>(shared.path)].hops;
  ASSERT_EQ(hops.size(), 2U);
  EXPECT_EQ(hops[0].to, 3);
  EXPECT_EQ(hops[1].to, 2);
  EXPECT_EQ(hops[1].parent, kFromSender);
  const auto range = [this](std::size_t c) {
    return std::pair(routes_.columns[c].begin, routes_.columns[c].end);
  };
  EXPECT_EQ(range(0), std::pair(std::int64_t{0}, 2 * kMB));
  EXPECT_EQ(range(1), std::pair(5 * kMB, 8 * kMB));
  EXPECT_EQ(routes_.columns[2].local_group, kNoLocalGroup);
  EXPECT_EQ(routes_.columns[2].path, 1);
}

// What only 2 lacks is not kept by 1, and a column without an exit hop stays as it is.
TEST_F(SharedExits, OthersStayAsTheyAre) {
  deliveries_.groups[0].domains[0].receivers = {2};
  routes_.columns.push_back({0, 0, 4 * kMB, 0, 1, 1, 1});
  routes_.columns.push_back({0, 4 * kMB, 8 * kMB, 0, 0, 1, 1});
  ShareExits(deliveries_, resources_, routes_);
  std::vector<std::int64_t> ends;
  for (const RoutedColumn& column : routes_.columns) {
    EXPECT_EQ(column.local_group, kNoLocalGroup);
    ends.push_back(column.end);
  }
  EXPECT_THAT(ends, ElementsAre(8 * kMB, 4 * kMB, 8 * kMB));
  EXPECT_EQ(routes_.paths.size(), 2U);
}

}  // namespace
}  // namespace reshard
