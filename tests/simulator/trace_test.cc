// The trace against the rules of the trace event format, and against the simulation it shows.
#include "simulator/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foundation/strict_json.h"
#include "sample_plan.h"
#include "simulator/simulate.h"

namespace reshard {
namespace {

using Track = std::pair<std::int64_t, std::int64_t>;  // process, thread

struct Slice {
  std::int64_t begin = 0;  // nanoseconds
  std::int64_t end = 0;
  std::string name;
};

struct Arrow {
  Track from;
  Track to;
  std::int64_t begin = -1;
  std::int64_t end = -1;
  std::int64_t bytes = 0;
};

struct ReadBack {
  std::string kind;
  std::string digest;
  std::map<Track, std::vector<Slice>> slices;
  std::map<std::int64_t, Arrow> arrows;
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> counters;
  std::map<std::int64_t, std::string> processes;
  std::set<Track> named_threads;
  std::set<std::int64_t> places;
};

double NumberOf(const JsonCursor& event, const char* field) {
  const Result<double> value = event.Number(field, kNotNegativeNumber);
  EXPECT_TRUE(value) << ToString(value.error());
  return value.value_or(-1);
}

std::int64_t NanosecondsIn(const JsonCursor& event, const char* field) {
  return std::llround(NumberOf(event, field) * 1e3);
}

std::string TextOf(const JsonCursor& event, const char* field) {
  const Result<std::string> value = event.String(field);
  EXPECT_TRUE(value) << ToString(value.error());
  return value.value_or("");
}

// Reads a trace; anything outside the format's rules fails the test.
ReadBack Read(const std::string& text) {
  ReadBack trace;
  const Result<JsonDocument> document = ParseJson(text, "trace");
  if (!document) {
    ADD_FAILURE() << ToString(document.error());
    return trace;
  }
  const JsonCursor root(*document);
  EXPECT_TRUE(root.ExpectFields({"displayTimeUnit", "otherData", "traceEvents"}));
  trace.kind = TextOf(*root.Field("otherData"), "kind");
  trace.digest = TextOf(*root.Field("otherData"), "digest");
  EXPECT_EQ(TextOf(root, "displayTimeUnit"), "ms");
  const Result<std::vector<JsonCursor>> events = root.Elements("traceEvents");
  if (!events) {
    ADD_FAILURE() << ToString(events.error());
    return trace;
  }
  for (const JsonCursor& event : *events) {
    const std::string phase = TextOf(event, "ph");
    const std::int64_t process = *event.Integer("pid", kNotNegativeInteger);
    const Track track = {process, *event.Integer("tid", kNotNegativeInteger)};
    const std::string name = TextOf(event, "name");
    if (phase == "X") {
      EXPECT_TRUE(event.ExpectFields({"ph", "pid", "tid", "ts", "dur", "name", "cat", "args"}));
      const JsonCursor args = *event.Field("args");
      const bool exchanges = TextOf(event, "cat") == "exchange";
      EXPECT_GT(*args.Integer(exchanges ? "operations" : "bytes"), 0);
      const std::int64_t begin = NanosecondsIn(event, "ts");
      trace.slices[track].push_back({begin, begin + NanosecondsIn(event, "dur"), name});
    } else if (phase == "M") {
      EXPECT_TRUE(event.ExpectFields({"ph", "pid", "tid", "name", "args"}));
      if (name == "process_sort_index") {
        EXPECT_TRUE(trace.places.insert(*event.Field("args")->Integer("sort_index")).second);
        continue;
      }
      const std::string value = TextOf(*event.Field("args"), "name");
      if (name == "process_name") trace.processes[process] = value;
      if (name == "thread_name") trace.named_threads.insert(track);
    } else if (phase == "C") {
      EXPECT_TRUE(event.ExpectFields({"ph", "pid", "tid", "ts", "name", "args"}));
      const JsonCursor args = *event.Field("args");
      auto& points = trace.counters[name];
      const std::int64_t at = NanosecondsIn(event, "ts");
      EXPECT_TRUE(points.empty() || at > points.back().first) << name;
      points.emplace_back(at, NumberOf(args, args.Has("GB/s") ? "GB/s" : "% busy"));
    } else if (phase == "s" || phase == "f") {
      EXPECT_TRUE(
          event.ExpectFields({"ph", "bp", "id", "pid", "tid", "ts", "name", "cat", "args"}));
      EXPECT_EQ(name + " " + TextOf(event, "cat"), "transfer transfer");  // what binds both ends
      Arrow& arrow = trace.arrows[*event.Integer("id")];
      EXPECT_EQ(phase == "s" ? arrow.begin : arrow.end, -1) << "an arrow has two ends";
      (phase == "s" ? arrow.begin : arrow.end) = NanosecondsIn(event, "ts");
      (phase == "s" ? arrow.from : arrow.to) = track;
      if (phase == "s") arrow.bytes = *event.Field("args")->Integer("bytes");
      if (phase == "f") {  // binds to the slice it lies in, not to the next one
        EXPECT_EQ(TextOf(event, "bp"), "e");
      }
    } else {
      ADD_FAILURE() << "unknown phase " << phase;
    }
  }
  return trace;
}

bool LiesInASlice(const ReadBack& trace, Track track, std::int64_t instant) {
  const auto found = trace.slices.find(track);
  if (found == trace.slices.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Slice& slice) {
    return slice.begin <= instant && instant <= slice.end;
  });
}

SamplePlan SomePlan(const Cluster& cluster) {
  SamplePlan sample(cluster);
  for (RankIndex from = 0; from < 4; ++from) {
    for (RankIndex to = 0; to < 4; ++to) {
      if (from != to) sample.Send(from, to, 16 * 40000 * (1 + from + to), from % 2, 8, true, true);
    }
    sample.WaitFor(from, Lane::kExchange, Lane::kPack, 0)
        .WaitFor(from, Lane::kUnpack, Lane::kExchange, 0);
  }
  return sample;
}

TEST(TraceTest, FollowsTheFormatAndTheSimulation) {
  Cluster cluster = SampleCluster(2, 2);
  cluster.domains[0].network_latency_us = 14;
  const SamplePlan sample = SomePlan(cluster);
  const Result<Trace> made = MakeTrace(sample.plan, cluster, *DefaultConstants());
  ASSERT_TRUE(made) << ToString(made.error());
  const Result<SimulationResult> simulated = Simulate(sample.plan, cluster, *DefaultConstants());
  const ReadBack trace = Read(made->text);

  EXPECT_EQ(trace.processes.at(2), "rank 2 (GPU 2 in domain 1)");
  EXPECT_EQ(trace.kind, "predicted");
  EXPECT_EQ(trace.digest, sample.plan.job_digest);
  EXPECT_EQ(trace.processes.at(4), "domains");
  EXPECT_EQ(trace.processes.at(5), "NICs and NVLink");
  EXPECT_EQ(trace.places.size(), 6U);
  EXPECT_EQ(made->arrows, "all 96 transfers");
  EXPECT_EQ(trace.named_threads.size(), 4U * kLaneCount);

  std::int64_t last = 0;
  for (const auto& [track, slices] : trace.slices) {
    EXPECT_TRUE(trace.named_threads.contains(track));
    std::int64_t before = 0;
    for (const Slice& slice : slices) {  // steps of a lane follow each other
      EXPECT_GE(slice.begin, before);
      before = slice.end;
      last = std::max(last, slice.end);
    }
  }
  EXPECT_NEAR(static_cast<double>(last) * 1e-9, simulated->seconds, 1e-5 * simulated->seconds);
  // Rank 0 sends in rounds 0 to 7 and receives up to round 8.
  EXPECT_EQ(trace.slices.at({0, 1}).size(), 9U);
  EXPECT_EQ(trace.slices.at({0, 1}).front().name, "round 0");
  EXPECT_EQ(trace.slices.at({0, 0}).size(), 8U);

  EXPECT_EQ(trace.arrows.size(), 12U * 8);
  std::int64_t bytes = 0;
  for (const auto& [id, arrow] : trace.arrows) {
    EXPECT_LT(arrow.begin, arrow.end);
    EXPECT_TRUE(LiesInASlice(trace, arrow.from, arrow.begin)) << id;
    EXPECT_TRUE(LiesInASlice(trace, arrow.to, arrow.end)) << id;
    bytes += arrow.bytes;
  }
  std::int64_t expected = 0;
  for (const Column& column : sample.plan.columns) expected += column.end - column.begin;
  EXPECT_EQ(bytes, expected);
}

// What a counter shows never exceeds the rate, and adds up to the bytes.
TEST(TraceTest, CountersAddUpToTheBytes) {
  const Cluster cluster = SampleCluster(2, 2);
  const SamplePlan sample = SomePlan(cluster);
  TraceOptions options;
  options.counter_points_max = 50 * 16;
  const ReadBack trace = Read(MakeTrace(sample.plan, cluster, FreeConstants(), options)->text);
  const Result<SimulationResult> simulated = Simulate(sample.plan, cluster, FreeConstants());
  ASSERT_TRUE(simulated);
  for (const ResourceUse& use : simulated->resources) {
    const auto counter = trace.counters.find(use.name);
    if (counter == trace.counters.end()) {
      EXPECT_TRUE(use.bytes == 0 || use.name.ends_with("HBM")) << use.name;
      continue;
    }
    double bytes = 0;
    for (std::size_t i = 0; i + 1 < counter->second.size(); ++i) {
      EXPECT_LE(counter->second[i].second, use.rate_gbps * (1 + 1e-5)) << use.name;
      bytes += counter->second[i].second *
               static_cast<double>(counter->second[i + 1].first - counter->second[i].first);
    }
    EXPECT_EQ(counter->second.back().second, 0) << use.name;
    EXPECT_NEAR(bytes, static_cast<double>(use.bytes), 1e-4 * static_cast<double>(use.bytes))
        << use.name;
  }
  EXPECT_EQ(trace.counters.size(), 16U + 2 * 3);
}

// The mean over a domain's NICs is that of their counters.
TEST(TraceTest, CountersOfDomainsAreSharesOfTheirRates) {
  const Cluster cluster = SampleCluster(2, 2);
  const ReadBack trace =
      Read(MakeTrace(SomePlan(cluster).plan, cluster, FreeConstants(), {})->text);
  const auto area = [&](const std::string& name, double most) {
    double sum = 0;
    const auto& points = trace.counters.at(name);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      EXPECT_LE(points[i].second, most * (1 + 1e-5)) << name;
      sum += points[i].second * static_cast<double>(points[i + 1].first - points[i].first);
    }
    return sum;
  };
  const double nics = area("NIC 2 in", 50) + area("NIC 3 in", 50);
  EXPECT_NEAR(area("domain 1 NICs in", 100), 100 * nics / (2 * 50), 1e-4 * nics);
  const double nvlink = area("GPU 0 NVLink out", 400) + area("GPU 1 NVLink out", 400);
  EXPECT_NEAR(area("domain 0 NVLink", 100), 100 * nvlink / (2 * 400), 1e-4 * nvlink);
}

TEST(TraceTest, ArrowsAreBounded) {
  const Cluster cluster = SampleCluster(2, 2);
  TraceOptions options;
  options.arrows_max = 70;  // 64 of the 96 transfers go between domains
  const Result<Trace> made = MakeTrace(SomePlan(cluster).plan, cluster, FreeConstants(), options);
  EXPECT_EQ(made->arrows, "64 of 96 transfers: those over NICs");
  const ReadBack trace = Read(made->text);
  EXPECT_EQ(trace.arrows.size(), 64U);
  for (const auto& [id, arrow] : trace.arrows) {
    EXPECT_NE(arrow.from.first / 2, arrow.to.first / 2) << id;
  }
}

TEST(TraceTest, FailsAsTheSimulationDoes) {
  Cluster cluster = SampleCluster(2, 2);
  const SamplePlan sample = SomePlan(cluster);
  cluster.gpus[1].dead = true;
  const Result<Trace> made = MakeTrace(sample.plan, cluster, FreeConstants());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().place, "cluster: GPU 1");
}

}  // namespace
}  // namespace reshard
