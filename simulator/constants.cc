#include "simulator/constants.h"

#include <utility>
#include <vector>

#include "foundation/digest.h"
#include "foundation/json_writer.h"
#include "foundation/strict_json.h"
#include "schedules/channel_hints.h"
#include "schedules/shortest_hop.h"
#include "simulator/constants/default_constants.h"

namespace reshard {
namespace {

// Durations end at an hour: beyond it a constant is a slip, not a machine.
constexpr NumberRange kDurationUs{0, 3.6e9, false};
constexpr NumberRange kMemoryKiB{0, 1 << 20, false};
constexpr NumberRange kMemoryMiB{0, 1 << 20, false};
constexpr NumberRange kStepKiB{0, 1 << 20, true};
constexpr NumberRange kShare{0, 1, true};
constexpr NumberRange kNvlinkHopShare{kShortestNvlinkHop, 1, false};
constexpr NumberRange kNetworkHopShare{kShortestNetworkHop, 1, false};
constexpr IntegerRange kPxn{0, kPxnForAll};
constexpr IntegerRange kChannels{1, kMostChannels};
// Products of counts and sizes then stay far from 64 bits.
constexpr IntegerRange kOperations{1, std::int64_t{1} << 20};

// A constant: where it is kept, and what it may be. One of the two members is set.
struct Field {
  std::string_view name;
  NumberRange range;
  double Constants::*number = nullptr;
  std::int64_t Constants::*integer = nullptr;
  IntegerRange integer_range = {};
};

constexpr Field kFields[] = {
    {"networkChannelGBps", kPositiveNumber, &Constants::network_channel_gbps},
    {"nvlinkChannelShare", kShare, &Constants::nvlink_channel_share},
    {"channels", kPositiveNumber, nullptr, &Constants::channels, kChannels},
    {"operationsPerChannel", kPositiveNumber, nullptr, &Constants::operations_per_channel,
     kOperations},
    {"networkStepKiB", kStepKiB, &Constants::network_step_kib},
    {"nvlinkStepKiB", kStepKiB, &Constants::nvlink_step_kib},
    {"llKiB", kMemoryKiB, &Constants::ll_kib},
    {"llNvlinkLatencyShare", kNvlinkHopShare, &Constants::ll_nvlink_latency_share},
    {"llNetworkLatencyShare", kNetworkHopShare, &Constants::ll_network_latency_share},
    {"pxn", kPositiveNumber, nullptr, &Constants::pxn, kPxn},
    {"hostNodeUs", kDurationUs, &Constants::host_node_us},
    {"groupUs", kDurationUs, &Constants::group_us},
    {"kernelLaunchUs", kDurationUs, &Constants::kernel_launch_us},
    {"batchUs", kDurationUs, &Constants::batch_us},
    {"copyHbmShare", kShare, &Constants::copy_hbm_share},
    {"eagerLaunchUs", kDurationUs, &Constants::eager_launch_us},
    {"hostSynchronizationUs", kDurationUs, &Constants::host_synchronization_us},
    {"nvlinkConnectionMiB", kMemoryMiB, &Constants::nvlink_connection_mib},
    {"networkPoolMiB", kMemoryMiB, &Constants::network_pool_mib},
};

// The field `value` of constant `name`; its provenance must be there too.
Result<JsonCursor> ValueOf(const JsonCursor& constants, std::string_view name) {
  const Result<JsonCursor> entry = constants.Field(name);
  if (!entry) return entry;
  const Result<void> fields = entry->ExpectFields({"value", "unit", "source", "date"});
  if (!fields) return tl::unexpected(fields.error());
  for (const std::string_view provenance : {"unit", "source", "date"}) {
    const Result<std::string> text = entry->String(provenance);
    if (!text) return tl::unexpected(text.error());
    if (text->empty())
      return entry->Field(provenance)->Fail("empty", "say where the number is from");
  }
  return entry->Field("value");
}

Result<Constants> FromDocument(const JsonDocument& document) {
  const JsonCursor root(document);
  const Result<void> top = root.ExpectFields({"constants"});
  if (!top) return tl::unexpected(top.error());
  const Result<JsonCursor> all = root.Field("constants");
  if (!all) return tl::unexpected(all.error());
  std::vector<std::string_view> names;
  for (const Field& field : kFields) names.push_back(field.name);
  const Result<void> known = all->ExpectFields(names);
  if (!known) return tl::unexpected(known.error());

  Constants constants;
  for (const Field& field : kFields) {
    const Result<JsonCursor> value = ValueOf(*all, field.name);
    if (!value) return tl::unexpected(value.error());
    if (field.integer != nullptr) {
      const Result<std::int64_t> integer = value->AsInteger(field.integer_range);
      if (!integer) return tl::unexpected(integer.error());
      constants.*field.integer = *integer;
    } else {
      const Result<double> number = value->AsNumber(field.range);
      if (!number) return tl::unexpected(number.error());
      constants.*field.number = *number;
    }
  }
  return constants;
}

}  // namespace

Result<Constants> DefaultConstants() {
  return ParseConstants(DefaultConstantsText(), "built-in constants");
}

Result<Constants> ParseConstants(std::string_view text, const std::string& place) {
  return ParseJson(text, place).and_then(FromDocument);
}

Result<Constants> ReadConstants(const std::string& path) {
  return ReadJsonFile(path).and_then(FromDocument);
}

std::string ConstantsDigest(const Constants& constants) {
  JsonValue::Object values;
  for (const Field& field : kFields) {
    if (field.integer != nullptr) {
      values.emplace_back(field.name, constants.*field.integer);
    } else {
      values.emplace_back(field.name, constants.*field.number);
    }
  }
  return DigestHex(CanonicalJson(JsonValue(std::move(values))));
}

}  // namespace reshard
