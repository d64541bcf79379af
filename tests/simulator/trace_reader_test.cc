#include "simulator/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "sample_plan.h"
#include "simulator/record_replay.h"
#include "simulator/trace.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

std::string WithEvents(const std::string& events) {
  return R"({"otherData": {"kind": "measured", "digest": "ab"}, "traceEvents": [)" + events + "]}";
}

// A trace reads back as the steps of the same replay.
TEST(TraceReaderTest, ReadsWhatWasWritten) {
  const Cluster cluster = SampleCluster(2, 2);
  SamplePlan sample(cluster);
  sample.Send(0, 2, 6400, 0, 4, true, true).Send(1, 3, 32'000, 1, 9, true, false);
  sample.plan.job_digest = "0123";
  const Result<Trace> made = MakeTrace(sample.plan, cluster, *DefaultConstants());
  ASSERT_TRUE(made);
  const Result<TraceSteps> read = ParseTrace(made->text, "t.json");
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(read->kind, "predicted");
  EXPECT_EQ(read->digest, "0123");
  std::vector<StepTime> steps = RecordReplay(sample.plan, cluster, *DefaultConstants())->steps;
  std::sort(steps.begin(), steps.end(), [](const StepTime& a, const StepTime& b) {
    return std::tuple(a.rank, a.lane, a.round) < std::tuple(b.rank, b.lane, b.round);
  });
  EXPECT_EQ(read->steps, steps);
}

TEST(TraceReaderTest, OtherEventsArePassedOver) {
  const Result<TraceSteps> read =
      ParseTrace(WithEvents(R"({"ph": "X", "name": "idle", "cat": "other"}, {"ph": "i"},
                    {"ph": "X", "pid": 3, "tid": 0, "ts": 1.5, "dur": 2, "name": "round 7",
                     "cat": "exchange", "more": 1})"),
                 "t.json");
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(read->steps, (std::vector<StepTime>{{3, Lane::kExchange, 7, 1500, 3500}}));
}

TEST(TraceReaderTest, WhatIsNoTraceIsRefused) {
  const auto refused = [](const std::string& text, const std::string& reason) {
    const Result<TraceSteps> read = ParseTrace(text, "t.json");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(ToString(read.error()), HasSubstr(reason)) << text;
  };
  const auto step = [](const std::string& name, const std::string& pid, const std::string& ts) {
    return R"({"ph": "X", "cat": "pack", "name": ")" + name + R"(", "dur": 1, "pid": )" + pid +
           R"(, "ts": )" + ts + "}";
  };
  refused("{", "t.json");
  refused("{}", "this is no trace of reshard");
  refused(R"({"traceEvents": []})", "this is no trace of reshard");
  refused(R"({"otherData": {"kind": "guessed", "digest": ""}, "traceEvents": []})", "guessed");
  refused(R"({"otherData": {"kind": "measured", "digest": "ab"}})", "traceEvents");
  refused(WithEvents("7"), "traceEvents.0");
  refused(WithEvents(step("round x", "0", "1")), "traceEvents.0");
  refused(WithEvents(step("round -1", "0", "1")), "round -1");
  refused(WithEvents(step("round 1", "-1", "1")), "traceEvents.0.pid");
  refused(WithEvents(step("round 1", "4294967296", "1")), "traceEvents.0.pid");
  refused(WithEvents(step("round 1", "0", "-1")), "traceEvents.0.ts");
  refused(WithEvents(step("round 1", "0", "1e300")), "traceEvents.0.ts");
  refused(WithEvents(step("round 1", "0", "1") + "," + step("round 1", "0", "5")),
          "rank 0 has round 1 twice in its pack lane");
}

}  // namespace
}  // namespace reshard
