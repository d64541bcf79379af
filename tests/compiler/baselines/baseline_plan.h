// Plans of baseline planners for jobs by hand, and sums over their traffic.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/planner.h"
#include "schedules/carried_bytes.h"
#include "schedules/verifier.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/planned_job.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {

// The verified plan that planner `name` makes; fails the test where it makes none.
inline Plan MakeBaselinePlan(std::string_view name, const JobRecords& records,
                             const Cluster& cluster, const std::string& canonical_json = "{}") {
  Job job;
  job.cluster = cluster;
  job.records = records;
  job.canonical_json = canonical_json;
  Plan plan = MakeUnplanned(records).value();
  const Result<void> made = MakePlanner(name)->MakeSchedule(job, CountingCostModel(1), plan);
  EXPECT_TRUE(made) << ToString(made.error());
  const Result<VerifierReport> verified = Verify(plan);
  EXPECT_TRUE(verified) << ToString(verified.error());
  return plan;
}

using Ends = std::pair<RankIndex, RankIndex>;

// Bytes from rank to rank over the whole refit.
inline std::map<Ends, std::int64_t> BytesByEnds(const Plan& plan) {
  std::map<Ends, std::int64_t> bytes;
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    bytes[{carried.from, carried.to}] += carried.bytes;
  }
  return bytes;
}

inline std::int64_t Operations(const Plan& plan) {
  std::int64_t operations = 0;
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) operations += carried.operations;
  return operations;
}

// Rows [begin, end) of a tensor of `columns` columns, or the whole where it has one dim.
inline TestBox Rows(const std::string& tensor, std::int64_t begin, std::int64_t end,
                    std::int64_t columns) {
  return {tensor, {begin, 0}, {end - begin, columns}};
}

// Boxes for rank `shard` of `shards` that cut dim 0 of [rows, columns] as torch.chunk does.
inline std::vector<TestBox> ChunkedRows(const std::string& tensor, std::int64_t rows,
                                        std::int64_t columns, std::int64_t shards,
                                        std::int64_t shard) {
  const std::int64_t each = (rows + shards - 1) / shards;
  const std::int64_t begin = std::min(rows, shard * each);
  const std::int64_t end = std::min(rows, begin + each);
  if (begin == end) return {};
  return {Rows(tensor, begin, end, columns)};
}

}  // namespace reshard
