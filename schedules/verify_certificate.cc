#include <fmt/format.h>

#include <cmath>
#include <string>

#include "foundation/digest.h"
#include "schedules/verification.h"
#include "schedules/verifier.h"

namespace reshard {
namespace {

// A prediction that equals the bound may be rounded below it.
constexpr double kRoundingShare = 1e-9;

bool IsTime(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

}  // namespace

Result<void> VerifyCertificate(const Plan& plan, const VerifierReport& report) {
  const auto broken = [](const std::string& reason) {
    return verification::Broken(6, "certificate", reason);
  };
  const std::string digest = DigestHex(plan.job_json);
  if (digest != plan.job_digest) {
    return broken(fmt::format("the job's digest is {}, not {}", digest, plan.job_digest));
  }
  const Certificate& certificate = plan.certificate;
  const struct {
    const char* what;
    std::int64_t stated;
    std::int64_t found;
  } maxima[] = {
      {"bytes of staging", certificate.staging_bytes_max, report.staging_bytes_max},
      {"operations in an NCCL group", certificate.ops_per_group_max, report.ops_per_group_max},
      {"peers", certificate.peers_max, report.peers_max},
  };
  for (const auto& one : maxima) {
    if (one.stated != one.found) {
      return broken(
          fmt::format("it states {} {}, the plan has {}", one.stated, one.what, one.found));
    }
  }
  const double bound = certificate.lower_bound.seconds;
  const double predicted = certificate.predicted_seconds;
  if (!IsTime(bound) || !IsTime(predicted)) return broken("a time is negative or not finite");
  if (predicted < bound * (1 - kRoundingShare)) {
    return broken(
        fmt::format("it predicts {} s, less than its lower bound of {} s", predicted, bound));
  }
  return {};
}

}  // namespace reshard
