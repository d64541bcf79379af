#include "tools/resource_summary.h"

#include <gtest/gtest.h>

#include <vector>

namespace reshard {
namespace {

std::vector<ResourceUse> Uses() {
  return {{"NIC 0 out", 48, 480, 0.1},
          {"NIC 10 out", 48, 1440, 0.3},
          {"GPU 0 NVLink in", 720, 720, 0.2},
          {"NIC 2 out", 24, 720, 0.3},
          {"domain 1 ingress", 96, 100, 0.5}};
}

TEST(ResourceKinds, JoinsNamesThatDifferInNumbers) {
  const std::vector<ResourceKind> kinds = ResourceKinds(Uses());
  ASSERT_EQ(kinds.size(), 3);
  EXPECT_EQ(kinds[0].name, "NIC out");
  EXPECT_EQ(kinds[0].resources, 3);
  EXPECT_EQ(kinds[0].bytes, 2640);                  // 480 + 1440 + 720
  EXPECT_NEAR(kinds[0].busy_mean, 0.7 / 3, 1e-12);  // (0.1 + 0.3 + 0.3) / 3
  EXPECT_EQ(kinds[0].busiest.name, "NIC 10 out");   // the first of the two at 0.3
  EXPECT_EQ(kinds[1].name, "GPU NVLink in");
  EXPECT_EQ(kinds[2].name, "domain ingress");
}

TEST(ResourceTable, ShowsAKindALine) {
  EXPECT_EQ(
      ResourceTable(ResourceKinds(Uses())).Text(),
      "resource        number     carry  busy, mean  busiest\n"
      "NIC out              3  2.640 kB      23.3 %   30.0 %  NIC 10 out: 1.440 kB at 48 GB/s\n"
      "GPU NVLink in        1     720 B      20.0 %   20.0 %  GPU 0 NVLink in: 720 B at 720 GB/s\n"
      "domain ingress       1     100 B      50.0 %   50.0 %  domain 1 ingress: 100 B at 96 "
      "GB/s\n");
}

}  // namespace
}  // namespace reshard
