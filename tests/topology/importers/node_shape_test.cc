#include "topology/importers/node_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/builtin_types.h"

namespace reshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Indices = std::vector<std::int32_t>;

struct Sample {
  NodeDescription node;
  GpuKind kind;
  NicAssignment assignment;
  std::vector<std::int32_t> rails;
};

// GPU i with NIC i of 400 Gb/s, all NVLinks of an H100.
Sample Whole(std::int32_t gpus) {
  Sample sample;
  sample.node.source = "file";
  sample.kind = {*BuiltinType("dgx-h100"), 18, {}};
  for (std::int32_t i = 0; i < gpus; ++i) {
    DescribedGpu gpu;
    gpu.name = "GPU " + std::to_string(i);
    gpu.nvlinks = 18;
    sample.node.gpus.push_back(gpu);
    sample.node.nics.push_back({"mlx5_" + std::to_string(i), std::to_string(i), 50});
    sample.assignment.gpus.push_back({i});
    sample.rails.push_back(i);
  }
  return sample;
}

Result<NodeShape> Shape(const Sample& sample, std::optional<double> said = {}) {
  return ShapeNode(sample.node, sample.kind, sample.assignment, sample.rails, said);
}

TEST(NodeShapeTest, AWholeNodeIsTheBuiltInType) {
  const Result<NodeShape> shape = Shape(Whole(8));
  ASSERT_TRUE(shape) << ToString(shape.error());
  ASSERT_EQ(shape->islands.size(), 1u);
  DomainType type = shape->islands[0].type;
  type.name = "dgx-h100";
  EXPECT_EQ(type, *BuiltinType("dgx-h100"));
  EXPECT_THAT(shape->assumptions, IsEmpty());
}

TEST(NodeShapeTest, FewerNvlinksAreASlowerGpu) {
  Sample sample = Whole(4);
  sample.node.gpus[2].nvlinks = 9;
  sample.node.gpus[3].nvlinks = 0;
  sample.node.gpus[3].nvlink_island = 1;
  const Result<NodeShape> shape = Shape(sample);
  ASSERT_TRUE(shape);
  // Half of 18 links; none at all stays in the domain, so that GPUs keep their numbers.
  EXPECT_THAT(shape->gpu_nvlink_gbps, ElementsAre(370, 370, 185, 0));
  ASSERT_EQ(shape->islands.size(), 1u);
  EXPECT_EQ(shape->islands[0].type.nvlink_gbps, 370);
  EXPECT_THAT(shape->assumptions,
              ElementsAre(HasSubstr("GPU 2 has 9 NVLinks of 18"), HasSubstr("GPU 3 has 0")));
}

TEST(NodeShapeTest, GpusWithoutNvlinkAreDomainsAndShareTheRateOfANic) {
  Sample sample = Whole(2);
  for (std::int32_t i = 0; i < 2; ++i) {
    sample.node.gpus[i].nvlinks = 0;
    sample.node.gpus[i].nvlink_island = i;
  }
  sample.assignment.gpus = {{0, 1}, {}};
  const Result<NodeShape> shape = Shape(sample);
  ASSERT_TRUE(shape);
  ASSERT_EQ(shape->islands.size(), 2u);
  EXPECT_THAT(shape->islands[1].gpus, ElementsAre(1));
  EXPECT_EQ(shape->islands[1].type.nvlink_gbps, 0);
  EXPECT_THAT(shape->islands[1].type.nics, ElementsAre(NicType{{0}, 24, 0}));
  EXPECT_THAT(shape->assumptions, Contains(HasSubstr("mlx5_0 serves 2 islands")));
}

TEST(NodeShapeTest, IslandsThatInterleaveRenumberAloud) {
  Sample sample = Whole(4);
  for (std::int32_t i = 0; i < 4; ++i) sample.node.gpus[i].nvlink_island = i % 2;
  const Result<NodeShape> shape = Shape(sample);
  ASSERT_TRUE(shape);
  EXPECT_THAT(shape->islands[1].gpus, ElementsAre(1, 3));
  EXPECT_THAT(shape->islands[1].type.nics, ElementsAre(NicType{{0}, 48, 1}, NicType{{1}, 48, 3}));
  EXPECT_THAT(shape->assumptions, ElementsAre(HasSubstr("numbered island by island")));
}

TEST(NodeShapeTest, RatesOfNics) {
  Sample sample = Whole(8);
  sample.node.nics[0].line_gbps = 25;
  EXPECT_EQ(Shape(sample)->nics[0].gbps, 24);
  EXPECT_EQ(Shape(sample, 40.5)->nics[0].gbps, 40.5);
  sample.node.nics[0].line_gbps.reset();
  EXPECT_EQ(Shape(sample)->nics[0].gbps, 48);
  EXPECT_THAT(Shape(sample)->assumptions, ElementsAre(HasSubstr("does not tell rates of NICs")));
  // Half as many NICs as the type has: its rate is no guide.
  for (std::size_t nic = 4; nic < 8; ++nic) sample.assignment.gpus[nic].clear();
  EXPECT_THAT(ToString(Shape(sample).error()), HasSubstr("--nic-GBps 48"));
}

TEST(NodeShapeTest, UntoldNvlinksAreAssumedWhole) {
  Sample sample = Whole(2);
  for (DescribedGpu& gpu : sample.node.gpus) gpu.nvlinks.reset();
  EXPECT_THAT(Shape(sample)->gpu_nvlink_gbps, ElementsAre(370, 370));
  EXPECT_THAT(Shape(sample)->assumptions, ElementsAre(HasSubstr("does not tell NVLinks")));
}

TEST(NumberRailsTest, NamesAreRailsWhereNodesAgree) {
  // The second node has lost GPU 1 and with it the use of mlx5_1.
  const Sample whole = Whole(3);
  Sample part = Whole(3);
  part.assignment.gpus[1].clear();
  const std::vector<NodeDescription> nodes = {part.node, whole.node};
  const std::vector<NicAssignment> assignments = {part.assignment, whole.assignment};
  EXPECT_THAT(NumberRails(nodes, assignments), ElementsAre(Indices{0, 0, 2}, Indices{0, 1, 2}));
}

TEST(NumberRailsTest, PlacesAreRailsWhereNamesDiffer) {
  Sample other = Whole(2);
  other.node.nics[1].name = "ib1";
  const std::vector<NodeDescription> nodes = {Whole(2).node, other.node};
  const std::vector<NicAssignment> assignments = {Whole(2).assignment, other.assignment};
  EXPECT_THAT(NumberRails(nodes, assignments), ElementsAre(Indices{0, 1}, Indices{0, 1}));
}

}  // namespace
}  // namespace reshard
