#include "compiler/job/job_options.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace reshard {
namespace {

constexpr double kMebibyte = 1048576.0;
// Sizes given in MiB stay exact in a double, and far above any memory.
constexpr NumberRange kMebibytes{0, 4294967296.0, true};

Result<std::int64_t> MebibytesOr(const JsonCursor& options, std::string_view name,
                                 std::int64_t otherwise_bytes) {
  const std::optional<JsonCursor> field = options.Find(name);
  if (!field) return otherwise_bytes;
  const Result<double> mebibytes = field->AsNumber(kMebibytes);
  if (!mebibytes) return tl::unexpected(mebibytes.error());
  const auto bytes = static_cast<std::int64_t>(std::floor(*mebibytes * kMebibyte));
  if (bytes < 1) return field->Fail("is less than a byte");
  return bytes;
}

Result<std::vector<NamePattern>> ReadIgnore(const JsonCursor& options) {
  const auto elements = options.ElementsOrNone("ignore");
  if (!elements) return tl::unexpected(elements.error());
  std::vector<NamePattern> ignore;
  for (const JsonCursor& element : *elements) {
    const Result<std::string> text = element.AsString();
    if (!text) return tl::unexpected(text.error());
    Result<NamePattern> pattern = NamePattern::Parse(*text);
    if (!pattern) return element.Fail(pattern.error().reason);
    ignore.push_back(std::move(*pattern));
  }
  std::sort(ignore.begin(), ignore.end(),
            [](const NamePattern& a, const NamePattern& b) { return a.text() < b.text(); });
  ignore.erase(
      std::unique(ignore.begin(), ignore.end(),
                  [](const NamePattern& a, const NamePattern& b) { return a.text() == b.text(); }),
      ignore.end());
  return ignore;
}

Result<std::vector<InPlacePair>> ReadInPlace(const JsonCursor& options) {
  const auto elements = options.ElementsOrNone("inPlace");
  if (!elements) return tl::unexpected(elements.error());
  std::vector<InPlacePair> pairs;
  for (const JsonCursor& element : *elements) {
    const Result<std::vector<std::string>> names = element.AsStrings();
    if (!names) return tl::unexpected(names.error());
    if (names->size() != 2)
      return element.Fail("expected [source parameter, destination parameter]");
    pairs.push_back({names->front(), names->back()});
  }
  const auto key = [](const InPlacePair& pair) {
    return std::pair(pair.source_parameter, pair.destination_parameter);
  };
  std::sort(pairs.begin(), pairs.end(),
            [&](const InPlacePair& a, const InPlacePair& b) { return key(a) < key(b); });
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace

Result<JobOptions> ReadJobOptions(const std::optional<JsonCursor>& options) {
  JobOptions read;
  if (!options) return read;
  const Result<void> known =
      options->ExpectFields({"planner", "stagingMiB", "chunkMiB", "maxOpsPerGroup", "maxPeers",
                             "nicShare", "ignore", "inPlace"});
  if (!known) return tl::unexpected(known.error());
  Options& o = read.options;
  Result<std::string> planner = options->StringOr("planner", o.planner);
  if (!planner) return tl::unexpected(planner.error());
  o.planner = std::move(*planner);
  const Result<std::int64_t> staging = MebibytesOr(*options, "stagingMiB", o.staging_bytes);
  if (!staging) return tl::unexpected(staging.error());
  o.staging_bytes = *staging;
  const Result<std::int64_t> chunk = MebibytesOr(*options, "chunkMiB", o.chunk_bytes);
  if (!chunk) return tl::unexpected(chunk.error());
  o.chunk_bytes = *chunk;
  const Result<std::int64_t> ops =
      options->IntegerOr("maxOpsPerGroup", o.max_ops_per_group, kPositiveInteger);
  if (!ops) return tl::unexpected(ops.error());
  o.max_ops_per_group = *ops;
  const Result<std::int64_t> peers = options->IntegerOr("maxPeers", o.max_peers, kPositiveInteger);
  if (!peers) return tl::unexpected(peers.error());
  o.max_peers = *peers;
  const Result<double> share = options->NumberOr("nicShare", o.nic_share, {0, 1, true});
  if (!share) return tl::unexpected(share.error());
  o.nic_share = *share;
  Result<std::vector<NamePattern>> ignore = ReadIgnore(*options);
  if (!ignore) return tl::unexpected(ignore.error());
  read.ignore = std::move(*ignore);
  Result<std::vector<InPlacePair>> in_place = ReadInPlace(*options);
  if (!in_place) return tl::unexpected(in_place.error());
  read.in_place = std::move(*in_place);
  return read;
}

JsonValue JobOptionsToJson(const JobOptions& options) {
  const Options& o = options.options;
  JsonValue::Object object;
  object.emplace_back("planner", o.planner);
  object.emplace_back("stagingMiB", static_cast<double>(o.staging_bytes) / kMebibyte);
  if (o.chunk_bytes > 0) {
    object.emplace_back("chunkMiB", static_cast<double>(o.chunk_bytes) / kMebibyte);
  }
  object.emplace_back("maxOpsPerGroup", o.max_ops_per_group);
  if (o.max_peers > 0) object.emplace_back("maxPeers", o.max_peers);
  object.emplace_back("nicShare", o.nic_share);
  JsonValue::Array ignore;
  for (const NamePattern& pattern : options.ignore) ignore.emplace_back(pattern.text());
  object.emplace_back("ignore", std::move(ignore));
  JsonValue::Array in_place;
  for (const InPlacePair& pair : options.in_place) {
    in_place.emplace_back(JsonValue::Array{pair.source_parameter, pair.destination_parameter});
  }
  object.emplace_back("inPlace", std::move(in_place));
  return object;
}

}  // namespace reshard
