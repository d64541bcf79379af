#include "schedules/verifier.h"

#include "schedules/plan_indices.h"
#include "schedules/verification.h"

namespace reshard {

Result<VerifierReport> Verify(const Plan& plan) {
  Result<void> done = PlanIndicesFit(plan);
  if (done) done = verification::VerifyRecords(plan);
  if (done) done = verification::VerifyRegions(plan);
  if (done) done = verification::VerifyConversions(plan);
  if (done) done = verification::VerifyDemand(plan);
  VerifierReport report;
  if (done && plan.traffic) {
    done = verification::VerifyTraffic(plan, report);
    if (done) done = verification::VerifyChannels(plan, report);
    if (!done) return tl::unexpected(done.error());
    return report;
  }
  if (done) done = verification::VerifyFlow(plan);
  if (!done) return tl::unexpected(done.error());
  const verification::ChunkSpans spans(plan);
  done = verification::VerifyStaging(plan, spans, report);
  if (done) done = verification::VerifyGroups(plan, spans, report);
  if (done) done = verification::VerifyChannels(plan, report);
  if (done) done = verification::VerifyInPlace(plan);
  if (!done) return tl::unexpected(done.error());
  return report;
}

}  // namespace reshard
