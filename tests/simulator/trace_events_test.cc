#include "simulator/trace_events.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

TEST(TraceEventsTest, TextIsThatOfTheFormat) {
  TraceEvents events({"measured", "0a", {{"note", "of \"two\" lines"}}});
  Rank rank;
  rank.gpu = 5;
  rank.domain = 1;
  events.NameRank(0, rank, 7);
  events.AddStep(0, Lane::kUnpack, 12, 1'002'003, 2'000'000, "bytes", 64);
  events.AddStep(0, Lane::kPack, 3, 0, 5);
  events.AddArrow(9, 0, 1, 12, 48, 1000, 2500);
  events.AddCounter(2, "NIC 0 out", "GB/s", 10, 47.5);
  const std::string expected = R"text({"displayTimeUnit":"ms",
"otherData":{"kind": "measured", "digest": "0a", "note": "of \"two\" lines"},
"traceEvents":[
{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"rank 0 (GPU 5 in domain 1)"}},
{"ph":"M","name":"process_sort_index","pid":0,"tid":0,"args":{"sort_index":7}},
{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"pack"}},
{"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"exchange"}},
{"ph":"M","name":"thread_name","pid":0,"tid":2,"args":{"name":"unpack"}},
{"ph":"X","pid":0,"tid":2,"ts":1002.003,"dur":997.997,"name":"round 12","cat":"unpack","args":{"bytes":64}},
{"ph":"X","pid":0,"tid":0,"ts":0.000,"dur":0.005,"name":"round 3","cat":"pack"},
{"ph":"s","id":9,"pid":0,"tid":1,"ts":1.000,"name":"transfer","cat":"transfer","args":{"round":12,"bytes":48,"from":0,"to":1}},
{"ph":"f","bp":"e","id":9,"pid":1,"tid":1,"ts":2.500,"name":"transfer","cat":"transfer"},
{"ph":"C","pid":2,"tid":0,"ts":0.010,"name":"NIC 0 out","args":{"GB/s":47.5}}
]}
)text";
  EXPECT_EQ(events.Take(), expected);
}

}  // namespace
}  // namespace reshard
