// Proves, from the plan alone, what a plan promises (design, section 7). Includes no solver.
#pragma once

#include <cstdint>

#include "foundation/error.h"
#include "schedules/plan.h"

namespace reshard {

// The verdict's maxima, recomputed from the plan, never read from its certificate.
struct VerifierReport {
  std::int64_t staging_bytes_max = 0;
  RankIndex staging_rank = 0;  // the first that needs it
  std::int64_t ops_per_group_max = 0;
  std::int64_t peers_max = 0;
  std::int64_t network_bytes = 0;  // over all transfers between domains
  std::int64_t nvlink_bytes = 0;   // over all transfers inside a domain
};

// A simulation-only plan (Plan::traffic) is proven legal and, in bytes, complete; what promises 4
// and 5 are about is reported only. An Error names the rank, class, slot or transfer and the
// promise that is broken. Never crashes, whatever the plan says; time and memory are proportional
// to the plan, not to its rounds.
Result<VerifierReport> Verify(const Plan& plan);

// Holds the certificate against what Verify() has found, and the digest against the job text: the
// maxima are equal, times are finite, and no prediction is below the proven bound. For plans as
// they are written; while a plan is made, its certificate is still empty.
Result<void> VerifyCertificate(const Plan& plan, const VerifierReport& report);

}  // namespace reshard
