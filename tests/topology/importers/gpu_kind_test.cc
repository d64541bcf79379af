#include "topology/importers/gpu_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/builtin_types.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeDescription NodeOf(const DescribedGpu& gpu, bool coherent = false) {
  NodeDescription node;
  node.source = "file";
  node.gpus = {gpu, gpu};
  node.coherent = coherent;
  return node;
}

DescribedGpu Gpu(std::string device, std::optional<std::int64_t> sm,
                 std::optional<std::int64_t> nvlinks, std::optional<double> pcie_gts) {
  DescribedGpu gpu;
  gpu.name = "GPU 0";
  gpu.device = std::move(device);
  gpu.sm = sm;
  gpu.nvlinks = nvlinks;
  gpu.pcie_gts = pcie_gts;
  return gpu;
}

TEST(GpuKindTest, TheDeviceIsCertain) {
  const Result<GpuKind> kind = RecogniseGpus(NodeOf(Gpu("0x2335", 90, 18, 32)), "");
  ASSERT_TRUE(kind);
  EXPECT_EQ(kind->type.name, "dgx-h200");
  EXPECT_THAT(kind->assumptions, IsEmpty());
}

TEST(GpuKindTest, WhatFitsSeveralIsAssumedAloud) {
  const Result<GpuKind> by_sm = RecogniseGpus(NodeOf(Gpu("0xabcd", 90, 18, 32)), "");
  EXPECT_EQ(by_sm->type.name, "dgx-h100");
  EXPECT_THAT(by_sm->assumptions,
              ElementsAre("the GPUs are those of dgx-h100, by sm 90; they may be of dgx-h200 "
                          "(--type says otherwise)"));
  EXPECT_EQ(RecogniseGpus(NodeOf(Gpu("", 100, 18, 32), true), "")->type.name, "gb200-nvl72");
  EXPECT_EQ(RecogniseGpus(NodeOf(Gpu("", 100, 18, 32), false), "")->type.name, "dgx-b200");
  // Grace with a Hopper: the GPU of the boxes. A box with the GPU of a rack is asked for.
  EXPECT_EQ(RecogniseGpus(NodeOf(Gpu("0x2342", 90, 18, 32), true), "")->type.name, "dgx-h100");
  EXPECT_FALSE(RecogniseGpus(NodeOf(Gpu("", 103, 18, 32), false), ""));
  EXPECT_EQ(RecogniseGpus(NodeOf(Gpu("", {}, 12, {})), "")->type.name, "dgx-a100");
  EXPECT_EQ(RecogniseGpus(NodeOf(Gpu("", {}, 18, {}), true), "")->type.name, "gb200-nvl72");
  EXPECT_EQ(RecogniseGpus(NodeOf(Gpu("", {}, {}, 16)), "")->type.name, "dgx-a100");
}

TEST(GpuKindTest, TheBestConnectedGpuCounts) {
  NodeDescription node = NodeOf(Gpu("", {}, 18, {}));
  node.gpus.front().nvlinks = 3;
  EXPECT_EQ(RecogniseGpus(node, "")->type.name, "dgx-h100");
}

TEST(GpuKindTest, TheUserWins) {
  const Result<GpuKind> kind = RecogniseGpus(NodeOf(Gpu("0x2330", 90, 18, 32)), "dgx-b200");
  EXPECT_EQ(kind->type.name, "dgx-b200");
  EXPECT_THAT(kind->assumptions, IsEmpty());
  const Result<GpuKind> unknown = RecogniseGpus(NodeOf(Gpu("", {}, {}, {})), "dgx-h10");
  EXPECT_EQ(unknown.error().fault, Fault::kUsage);
  EXPECT_THAT(ToString(unknown.error()), HasSubstr("did you mean 'dgx-h100'?"));
}

TEST(GpuKindTest, Refusals) {
  EXPECT_THAT(ToString(RecogniseGpus(NodeOf(Gpu("", {}, {}, {})), "").error()),
              HasSubstr("file: does not tell which GPUs these are"));
  EXPECT_THAT(ToString(RecogniseGpus(NodeOf(Gpu("", 70, 6, 8)), "").error()),
              HasSubstr("--type dgx-h100"));
  NodeDescription mixed = NodeOf(Gpu("0x2330", 90, 18, 32));
  mixed.gpus.back().device = "0x20b2";
  EXPECT_THAT(ToString(RecogniseGpus(mixed, "").error()), HasSubstr("different kinds"));
}

TEST(GpuKindTest, EveryBuiltInTypeHasGpus) {
  for (const std::string_view name : BuiltinTypeNames()) {
    EXPECT_GT(NvlinksOfType(name), 0) << name;
    const bool is_rack = name.find("nvl72") != std::string_view::npos;
    EXPECT_EQ(NodesPerDomain(*BuiltinType(name)), is_rack ? 18 : 1) << name;
  }
}

}  // namespace
}  // namespace reshard
