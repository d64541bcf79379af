#include "tools/description_json.h"

#include <gtest/gtest.h>

#include <string>

#include "foundation/json_writer.h"

namespace reshard {
namespace {

TEST(DescriptionFields, OfARankKeepEveryPart) {
  RankDescription description;
  description.rank = 3;
  description.record.gpu = 5;
  description.record.node = 1;
  description.record.domain = 2;
  description.destination = {0, 7, 2, 64, 4};  // and not of the source
  description.staging_bytes = 96;
  description.packed_bytes = 10;
  description.unpacked_bytes = 20;
  description.moved_bytes = 30;
  description.slots = {{SlotKind::kPack, 0, 16, 2, 1, {1, 4}},
                       {SlotKind::kReceive, 32, 64, 1, 3, {0, 2}}};
  description.peers = {{9, true, 1, 2, 100, 200, {0, 5}}};
  description.waits = {{Lane::kExchange, Lane::kPack, 1}, {Lane::kUnpack, Lane::kExchange, 0}};
  EXPECT_EQ(
      JsonLine(DescriptionFields(description)),
      R"({"rank": 3, "gpu": 5, "node": 1, "domain": 2, "source": null, )"
      R"("destination": {"group": 0, "layout": 7, "parameters": 2, "parameterBytes": 64, )"
      R"("regions": 4, "computedParameters": 0}, "stagingBytes": 96, "packedBytes": 10, "unpackedBytes": 20, )"
      R"("movedBytes": 30, "zeroedBytes": 0, "slots": [{"kind": "pack", "offset": 0, "capacityBytes": 16, )"
      R"("depth": 2, "items": 1, "rounds": [1, 4]}, {"kind": "receive", "offset": 32, )"
      R"("capacityBytes": 64, "depth": 1, "items": 3, "rounds": [0, 2]}], "peers": [{"rank": 9, )"
      R"("sameDomain": true, "sends": 1, "receives": 2, "sentBytes": 100, "receivedBytes": 200, )"
      R"("rounds": [0, 5]}], "waits": [{"lane": "exchange", "on": "pack", "lag": 1}, )"
      R"({"lane": "unpack", "on": "exchange", "lag": 0}]})");
}

TEST(DescriptionFields, OfAClassNameItsTensors) {
  Plan plan;
  plan.job.tensors = {{"a", DType::kU8, {}}, {"b", DType::kU8, {}}};
  ClassDescription description;
  description.demand_class = 4;
  description.bytes = 48;
  description.fragments = 2;
  description.holders = {0, 1};
  description.needers = {2};
  description.tensors = {1};
  description.columns = {{6, {16, 48}, 3, {{0, 2, false, 1}}, {2}}};
  EXPECT_EQ(JsonLine(DescriptionFields(description, plan)),
            R"({"class": 4, "bytes": 48, "fragments": 2, "holders": [0, 1], "needers": [2], )"
            R"("tensors": ["b"], "columns": [{"column": 6, "range": [16, 48], "chunks": 3, )"
            R"("hops": [{"from": 0, "to": 2, "sameDomain": false, "firstRound": 1}], )"
            R"("localMoves": [2]}]})");
}

TEST(DifferenceFields, SayWhetherThePlansAreEqual) {
  EXPECT_EQ(JsonLine(DifferenceFields({})), R"({"equal": true, "differences": []})");
  EXPECT_EQ(
      JsonLine(DifferenceFields({{"rounds", "174", "96"}})),
      R"({"equal": false, "differences": [{"what": "rounds", "left": "174", "right": "96"}]})");
}

}  // namespace
}  // namespace reshard
