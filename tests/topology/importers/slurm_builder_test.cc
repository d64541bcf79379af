#include "topology/importers/slurm_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SlurmBuilderTest, NodesAreNumberedInTheOrderOfTheFile) {
  SlurmBuilder builder("file");
  ASSERT_TRUE(builder.AddSwitch("b", "n[3-4]", "", "line 1"));
  ASSERT_TRUE(builder.AddSwitch("a", "n[1,3]", "", "line 2"));
  const Result<SlurmTopology> slurm = builder.Finish();
  ASSERT_TRUE(slurm);
  EXPECT_THAT(slurm->nodes, ElementsAre("n3", "n4", "n1"));
  EXPECT_THAT(slurm->switches[1].nodes, ElementsAre(0, 2));
}

TEST(SlurmBuilderTest, SwitchesHoldAllThatIsBelow) {
  SlurmBuilder builder("file");
  ASSERT_TRUE(builder.AddSwitch("root", "", "mid[1-2]", "line 1"));
  ASSERT_TRUE(builder.AddSwitch("mid1", "", "leaf", "line 2"));
  ASSERT_TRUE(builder.AddSwitch("mid2", "y", "leaf", "line 3"));
  ASSERT_TRUE(builder.AddSwitch("leaf", "x", "", "line 4"));
  const Result<SlurmTopology> slurm = builder.Finish();
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->switches[0].nodes.size(), 2u);
  EXPECT_EQ(slurm->switches[1].nodes.size(), 1u);
  EXPECT_EQ(slurm->switches[2].nodes.size(), 2u);
}

TEST(SlurmBuilderTest, RefusesEndlessTrees) {
  SlurmBuilder builder("file");
  constexpr int kLength = 100;
  for (int i = 0; i < kLength; ++i) {
    ASSERT_TRUE(builder.AddSwitch("s" + std::to_string(i), i + 1 == kLength ? "x" : "",
                                  i + 1 == kLength ? "" : "s" + std::to_string(i + 1), "line"));
  }
  EXPECT_THAT(ToString(builder.Finish().error()), HasSubstr("lies too deep"));
}

}  // namespace
}  // namespace reshard
