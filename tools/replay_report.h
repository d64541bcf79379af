// What reshard-replay prints, whatever carried the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "tools/plan_summary.h"
#include "tools/trace_file.h"
#include "tools/weights_trial.h"

namespace reshard {

struct RefitRow {
  std::uint64_t refit = 0;
  double seconds = 0;   // 0: it failed
  std::string verdict;  // "right", "wrong", "not checked", "failed"
};

struct ReplayReport {
  std::vector<RefitRow> rows;
  std::optional<WrittenTrace> trace;    // of the last row
  std::optional<WrittenShards> shards;  // of the last row
  std::optional<Error> failure;         // of the last row
};

std::string TableText(const ReplayReport& report, const PlanSummary& summary);
std::string JsonText(const ReplayReport& report, const PlanSummary& summary,
                     const std::string& backend, std::size_t ranks);

}  // namespace reshard
