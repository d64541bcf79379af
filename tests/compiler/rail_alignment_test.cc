// Fabrics whose rails do not meet for free: plans leave over the rail they arrive on.

#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "simulator/cost_model.h"
#include "tests/compiler/moe_records.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

// 8 + 8 ranks, two domains of four GPUs a side, rails 0..3 by place in the domain.
Job MakeJob(RailCrossing crossing) {
  MoeShape shape;
  shape.layers = 4;
  shape.experts = 8;
  shape.hidden = 2048;
  shape.width = 512;
  shape.dense_rows = 1024;
  shape.expert_parallel = 4;
  shape.source_ranks = 8;
  shape.tensor_parallel = 4;
  shape.destination_ranks = 8;
  shape.ranks_per_domain = 4;
  Job job;
  job.records = MoeRecords(shape).job();
  job.cluster = UniformCluster(4, 4, 400, 48);
  job.cluster.fabric.rail_crossing = crossing;
  job.cluster.fabric.spine_oversubscription = crossing == RailCrossing::kSpine ? 4.0 : 1.0;
  return job;
}

Result<Compiled> CompileFor(RailCrossing crossing) {
  const Job job = MakeJob(crossing);
  const Result<Constants> constants = DefaultConstants();
  if (!constants) return tl::unexpected(constants.error());
  return Compile(job, SimulatedCostModel(job.cluster, *constants));
}

std::int64_t TransfersBetweenRails(const Plan& plan) {
  std::int64_t crossing = 0;
  for (const Transfer& transfer : plan.transfers) {
    const Rank& from = plan.job.ranks[static_cast<std::size_t>(transfer.from)];
    const Rank& to = plan.job.ranks[static_cast<std::size_t>(transfer.to)];
    if (from.domain != to.domain && from.gpu % 4 != to.gpu % 4) ++crossing;
  }
  return crossing;
}

TEST(RailAlignment, NothingCrossesWhereCrossingCostsOrCannotBe) {
  for (const RailCrossing crossing : {RailCrossing::kSpine, RailCrossing::kNone}) {
    const Result<Compiled> compiled = CompileFor(crossing);
    ASSERT_TRUE(compiled) << ToString(compiled.error());
    EXPECT_EQ(TransfersBetweenRails(compiled->plan), 0);
  }
}

// Where rails meet, holders send straight to the heads, whatever their rails: no hop is spent.
TEST(RailAlignment, FreeRailsAreUsedFreely) {
  const Result<Compiled> compiled = CompileFor(RailCrossing::kFull);
  ASSERT_TRUE(compiled) << ToString(compiled.error());
  EXPECT_GT(TransfersBetweenRails(compiled->plan), 0);
  for (const Transfer& transfer : compiled->plan.transfers) {
    const bool source_side = transfer.from < 8 && transfer.to < 8;
    EXPECT_FALSE(source_side) << transfer.from << " -> " << transfer.to;
  }
}

}  // namespace
}  // namespace reshard
