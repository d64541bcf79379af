#include "compiler/job/job_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/compiler/job_fixture.h"

namespace reshard {
namespace {

using testing::HasSubstr;

using JobSideTest = JobFixture;

TEST_F(JobSideTest, GpusThatCannotBeAreRefused) {
  const std::string good = Side("0-1", Rows(2));
  EXPECT_EQ(Refusal(JobText(Side("7-8", Rows(2)), good)),
            "job.json: source.gpus: index 8 is out of range: there are 8, numbered from 0");
  EXPECT_EQ(Refusal(JobText(good, "[" + Side("2-3", Rows(2)) + "," + Side("3-4", Rows(2)) + "]")),
            "job.json: destination.1.gpus: GPU 3 is in another group of this side already");
  EXPECT_THAT(Refusal(JobText(good, "[]")), HasSubstr("destination: a side without groups"));
  Write("cluster.json", R"json({"domains": [{"type": "gb200-nvl72", "gpus": 4}],
                                "overrides": [{"gpu": 2, "dead": true}]})json");
  EXPECT_EQ(Refusal(JobText(good, Side("2-3", Rows(2)))),
            "job.json: destination.gpus: GPU 2 is dead in this cluster; leave it out, or name "
            "it in \"without\" of the group");
}

TEST_F(JobSideTest, AGroupGoesOnWithoutSomeOfItsGpus) {
  const auto without = [](const std::string& absent) {
    return R"json({"gpus": "4-5", "without": ")json" + absent + R"json(", "layout": )json" +
           Rows(2) + "}";
  };
  const Job job = MustRead(JobText(Side("0-1", Rows(2)), without("4")));
  ASSERT_EQ(job.records.ranks.size(), 3U);
  EXPECT_EQ(job.records.ranks[2].gpu, 5);
  EXPECT_EQ(Refusal(JobText(Side("0-1", Rows(2)), without("6"))),
            "job.json: destination.without: GPU 6 is not in the group");
  EXPECT_THAT(Refusal(JobText(Side("0-1", Rows(2)), without("4-5"))),
              HasSubstr("destination: no GPU of the side is left; name fewer in \"without\""));
}

}  // namespace
}  // namespace reshard
