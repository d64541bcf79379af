#include "topology/builtin_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;

TEST(BuiltinTypesTest, AreTheSevenOfTheFormat) {
  EXPECT_THAT(BuiltinTypeNames(), ElementsAre("dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200",
                                              "gb200-nvl72", "gb300-nvl72", "vr200-nvl72"));
  for (const std::string_view name : BuiltinTypeNames()) EXPECT_TRUE(BuiltinType(name)) << name;
  EXPECT_FALSE(BuiltinType("dgx"));
  EXPECT_FALSE(BuiltinType(""));
}

TEST(BuiltinTypesTest, DgxIsOneNodeOfEightGpusEachWithItsNicOnItsRail) {
  const DomainType type = *BuiltinType("dgx-h100");
  EXPECT_EQ(type.gpu_count, 8);
  EXPECT_EQ(type.gpus_per_node, 8);
  EXPECT_EQ(type.nvlink_gbps, 370);  // 18 links of 20.6, rounded down
  EXPECT_EQ(type.hbm_gbps, 3350);
  ASSERT_EQ(type.nics.size(), 8u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(type.nics[i], (NicType{{i}, 48, i}));
  EXPECT_EQ(type.nvlink_latency_us, 3.4);
  EXPECT_EQ(type.network_latency_us, 14);
}

TEST(BuiltinTypesTest, Nvl72Is18NodesOfFour) {
  const DomainType type = *BuiltinType("gb200-nvl72");
  EXPECT_EQ(type.gpu_count, 72);
  EXPECT_EQ(type.gpus_per_node, 4);
  EXPECT_EQ(type.nvlink_gbps, 720);
  EXPECT_EQ(type.hbm_gbps, 8000);
  EXPECT_THAT(type.nics, ElementsAre(NicType{{0}, 48, 0}, NicType{{1}, 48, 1}, NicType{{2}, 48, 2},
                                     NicType{{3}, 48, 3}));
}

TEST(BuiltinTypesTest, Vr200HasTwoNicsPerGpuEachOnARailOfItsOwn) {
  const DomainType type = *BuiltinType("vr200-nvl72");
  EXPECT_EQ(type.nvlink_gbps, 1368);  // twice 684 per half GPU
  EXPECT_EQ(type.hbm_gbps, 22000);
  ASSERT_EQ(type.nics.size(), 8u);
  EXPECT_EQ(type.nics[0], (NicType{{0}, 96, 0}));
  EXPECT_EQ(type.nics[1], (NicType{{0}, 96, 1}));
  EXPECT_EQ(type.nics[7], (NicType{{3}, 96, 7}));
}

TEST(BuiltinTypesTest, RatesThatDiffer) {
  EXPECT_EQ(BuiltinType("dgx-a100")->nvlink_gbps, 240);  // 12 links of 20
  EXPECT_EQ(BuiltinType("dgx-a100")->nics[0].gbps, 24);  // half of NDR
  EXPECT_EQ(BuiltinType("dgx-a100")->hbm_gbps, 2000);
  EXPECT_EQ(BuiltinType("dgx-h200")->hbm_gbps, 4800);
  EXPECT_EQ(BuiltinType("dgx-b200")->nvlink_gbps, 720);
  EXPECT_EQ(BuiltinType("dgx-b200")->nics[0].gbps, 48);
  EXPECT_EQ(BuiltinType("gb300-nvl72")->nics[0].gbps, 96);  // twice NDR
}

}  // namespace
}  // namespace reshard
