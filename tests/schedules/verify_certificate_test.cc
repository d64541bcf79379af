#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "foundation/digest.h"
#include "schedules/verifier.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

TEST(CertificateTest, SaysWhatThePlanSays) {
  const auto verdict_on = [](const std::function<void(Plan&)>& change) {
    Plan plan = SmallPlan();
    plan.job_digest = DigestHex(plan.job_json);
    const auto report = Verify(plan);
    plan.certificate.staging_bytes_max = report->staging_bytes_max;
    plan.certificate.ops_per_group_max = report->ops_per_group_max;
    plan.certificate.peers_max = report->peers_max;
    change(plan);
    const auto done = VerifyCertificate(plan, *report);
    return done ? std::string("accepted") : ToString(done.error());
  };
  EXPECT_EQ(verdict_on([](Plan&) {}), "accepted");
  EXPECT_THAT(verdict_on([](Plan& p) { p.job_json += " "; }), HasSubstr("the job's digest is"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.staging_bytes_max = 159; }),
              HasSubstr("it states 159 bytes of staging, the plan has 160 (promise 6)"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.ops_per_group_max = 3; }),
              HasSubstr("it states 3 operations in an NCCL group, the plan has 2"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.peers_max = 0; }),
              HasSubstr("it states 0 peers, the plan has 2"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.predicted_seconds = INFINITY; }),
              HasSubstr("not finite"));
  EXPECT_THAT(verdict_on([](Plan& p) { p.certificate.predicted_seconds = 1.4e-5; }),
              HasSubstr("less than its lower bound"));
}

}  // namespace
}  // namespace reshard
