// Random job files with explicit layouts, replayed and compared with naive copies.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/end_to_end/naive_replay.h"
#include "tests/end_to_end/random_explicit_job.h"

namespace reshard {
namespace {

TEST(ExplicitJobsTest, RandomJobFilesEqualNaiveCopies) {
  const NaiveReplay replay;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const NaiveJob job = MakeRandomExplicitJob(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    HostOptions host;
    if (seed % 4 != 0) host.interleaving_seed = seed;
    replay.ExpectRight(job, host);
    ASSERT_FALSE(HasFailure()) << "job: " << job.job_json << "\nmodel: " << job.model_json;
  }
}

}  // namespace
}  // namespace reshard
