// What a plan says about itself: the numbers every command shows under the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "foundation/error.h"
#include "foundation/json_value.h"
#include "schedules/plan.h"
#include "schedules/verifier.h"
#include "simulator/connection_memory.h"
#include "tools/text_table.h"

namespace reshard {

struct PlanSummary {
  std::int64_t bytes = 0;          // of a class times its needers that are not holders, summed
  std::int64_t logical_bytes = 0;  // of the tensors the destination holds, each once
  std::int64_t tensors = 0;        // moved ones
  std::int64_t fragments = 0;
  std::int64_t classes = 0;
  std::int64_t source_ranks = 0;
  std::int64_t destination_ranks = 0;
  double lower_bound_seconds = 0;
  std::string bound_by;
  double predicted_seconds = 0;
  std::optional<double> gap;      // none at bound 0, or where bytes are left out
  bool leaves_bytes_out = false;  // what a simulation-only plan's planner cannot express
  std::int64_t rounds = 0;
  std::int64_t staging_bytes_max = 0;
  std::int64_t ops_per_group_max = 0;
  std::int64_t peers_max = 0;
  ChannelHints channels;
  bool is_limited = true;  // by the job's options: not so a simulation-only plan
  std::string digest;      // of the normalised job
};

// "about 1,568 MiB a rank, beside the staging: 30 NVLink peers and 46 network peers".
std::string ConnectionText(const ConnectionNeeds& needs);

// "4 per network peer".
std::string ChannelText(const ChannelHints& hints);

// `plan` has passed Verify(), which gave `verified`. `predicted_seconds` is the simulator's word.
// Fails only where a sum does not fit 64 bits.
Result<PlanSummary> Summarize(const Plan& plan, const VerifierReport& verified,
                              double predicted_seconds);

// predicted / bound - 1; none at bound 0.
std::optional<double> Gap(double predicted_seconds, double lower_bound_seconds);

// The fields of --json that every command shares, in the order of the README.
void AppendFields(const PlanSummary& summary, JsonValue::Object& fields);
// The same for people; limits of the job stand beside what the plan takes of them.
void AppendRows(const PlanSummary& summary, const Options& options, TextTable& table);

// What no byte depends on but nobody should miss: tensors that stay untouched, tensors a group
// lacks, buffers to recompute after the install.
void AppendFields(const Notices& notices, JsonValue::Object& fields);
void AppendRows(const Plan& plan, TextTable& table);

}  // namespace reshard
