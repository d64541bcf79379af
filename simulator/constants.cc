#include "simulator/constants.h"

#include <utility>

#include "foundation/digest.h"
#include "foundation/json_writer.h"
#include "foundation/strict_json.h"
#include "simulator/constants/default_constants.h"

namespace reshard {
namespace {

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

Result<double> NumberOf(const JsonCursor& constants, std::string_view name,
                        const NumberRange& range) {
  return ValueOf(constants, name).and_then([&](const JsonCursor& value) {
    return value.AsNumber(range);
  });
}

Result<std::int64_t> IntegerOf(const JsonCursor& constants, std::string_view name) {
  return ValueOf(constants, name).and_then([](const JsonCursor& value) {
    return value.AsInteger(kPositiveInteger);
  });
}

// Durations end at an hour: beyond it a constant is a slip, not a machine.
constexpr NumberRange kDurationUs{0, 3.6e9, false};
constexpr NumberRange kMemoryMiB{0, 1 << 20, false};

Result<Constants> FromDocument(const JsonDocument& document) {
  const JsonCursor root(document);
  const Result<void> top = root.ExpectFields({"constants"});
  if (!top) return tl::unexpected(top.error());
  const Result<JsonCursor> all = root.Field("constants");
  if (!all) return tl::unexpected(all.error());
  const Result<void> known = all->ExpectFields(
      {"networkChannelGBps", "networkChannelsPerPeer", "groupUs", "kernelLaunchUs",
       "operationsTogether", "batchUs", "copyHbmShare", "eagerLaunchUs", "hostSynchronizationUs",
       "nvlinkConnectionMiB", "networkPoolMiB"});
  if (!known) return tl::unexpected(known.error());

  const Result<double> channel = NumberOf(*all, "networkChannelGBps", kPositiveNumber);
  if (!channel) return tl::unexpected(channel.error());
  const Result<std::int64_t> channels = IntegerOf(*all, "networkChannelsPerPeer");
  if (!channels) return tl::unexpected(channels.error());
  const Result<double> group = NumberOf(*all, "groupUs", kDurationUs);
  if (!group) return tl::unexpected(group.error());
  const Result<double> launch = NumberOf(*all, "kernelLaunchUs", kDurationUs);
  if (!launch) return tl::unexpected(launch.error());
  const Result<std::int64_t> together = IntegerOf(*all, "operationsTogether");
  if (!together) return tl::unexpected(together.error());
  const Result<double> batch = NumberOf(*all, "batchUs", kDurationUs);
  if (!batch) return tl::unexpected(batch.error());
  const Result<double> copy = NumberOf(*all, "copyHbmShare", NumberRange{0, 1, true});
  if (!copy) return tl::unexpected(copy.error());
  const Result<double> eager = NumberOf(*all, "eagerLaunchUs", kDurationUs);
  if (!eager) return tl::unexpected(eager.error());
  const Result<double> host = NumberOf(*all, "hostSynchronizationUs", kDurationUs);
  if (!host) return tl::unexpected(host.error());
  const Result<double> connection = NumberOf(*all, "nvlinkConnectionMiB", kMemoryMiB);
  if (!connection) return tl::unexpected(connection.error());
  const Result<double> pool = NumberOf(*all, "networkPoolMiB", kMemoryMiB);
  if (!pool) return tl::unexpected(pool.error());
  return Constants{*channel, *channels, *group, *launch,     *together, *batch,
                   *copy,    *eager,    *host,  *connection, *pool};
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
  values.emplace_back("networkChannelGBps", constants.network_channel_gbps);
  values.emplace_back("networkChannelsPerPeer", constants.network_channels_per_peer);
  values.emplace_back("groupUs", constants.group_us);
  values.emplace_back("kernelLaunchUs", constants.kernel_launch_us);
  values.emplace_back("operationsTogether", constants.operations_together);
  values.emplace_back("batchUs", constants.batch_us);
  values.emplace_back("copyHbmShare", constants.copy_hbm_share);
  values.emplace_back("eagerLaunchUs", constants.eager_launch_us);
  values.emplace_back("hostSynchronizationUs", constants.host_synchronization_us);
  values.emplace_back("nvlinkConnectionMiB", constants.nvlink_connection_mib);
  values.emplace_back("networkPoolMiB", constants.network_pool_mib);
  return DigestHex(CanonicalJson(JsonValue(std::move(values))));
}

}  // namespace reshard
