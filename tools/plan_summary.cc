#include "tools/plan_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/number_text.h"
#include "tools/amounts.h"
#include "tools/json_output.h"
#include "tools/name_ranges.h"

namespace reshard {
namespace {

// Lines of one list that a terminal shows; --json has all.
constexpr std::size_t kLinesMax = 24;

std::int64_t CountMissing(std::span<const RankIndex> needers, std::span<const RankIndex> holders) {
  std::vector<RankIndex> missing;
  std::set_difference(needers.begin(), needers.end(), holders.begin(), holders.end(),
                      std::back_inserter(missing));
  return static_cast<std::int64_t>(missing.size());
}

std::optional<std::int64_t> DemandBytes(const Demand& demand) {
  std::int64_t sum = 0;
  for (const DemandClass& c : demand.classes) {
    const std::optional<std::int64_t> bytes =
        CheckedMultiply(c.bytes, CountMissing(demand.Needers(c), demand.Holders(c)));
    const std::optional<std::int64_t> next = bytes ? CheckedAdd(sum, *bytes) : std::nullopt;
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

// Every class has a needer, so the bytes of all classes are those the destination holds, each once.
std::optional<std::int64_t> LogicalBytes(const Demand& demand) {
  std::int64_t sum = 0;
  for (const DemandClass& c : demand.classes) {
    const std::optional<std::int64_t> next = CheckedAdd(sum, c.bytes);
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

// One row with a label, more without, the rest counted.
void AppendList(const std::string& label, const std::vector<std::string>& lines, TextTable& table) {
  const std::size_t shown = std::min(lines.size(), kLinesMax);
  for (std::size_t line = 0; line < shown; ++line) {
    table.AddRow({line == 0 ? label : "", lines[line]});
  }
  if (shown < lines.size()) {
    table.AddRow({"", fmt::format("and {} more lines, all under --json",
                                  CountText(static_cast<std::int64_t>(lines.size() - shown)))});
  }
}

// What a simulation-only plan does not move, and why.
std::vector<std::string> OmissionLines(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Omission& omission : plan.traffic->omissions) {
    lines.push_back(fmt::format("{} in {}, {} first: {}", BytesText(omission.bytes),
                                CountedText(omission.tensors, "tensor", "tensors"),
                                plan.job.tensors[static_cast<std::size_t>(omission.tensor)].name,
                                omission.reason));
  }
  return lines;
}

std::string Limited(const std::string& amount, bool limited, const std::string& limit) {
  return limited ? amount + " of " + limit : amount;
}

}  // namespace

std::optional<double> Gap(double predicted_seconds, double lower_bound_seconds) {
  if (lower_bound_seconds <= 0) return std::nullopt;
  return predicted_seconds / lower_bound_seconds - 1;
}

std::string ConnectionText(const ConnectionNeeds& needs) {
  return fmt::format("about {} a rank, beside the staging: {} and {}", MemoryText(needs.bytes),
                     CountedText(needs.nvlink_peers, "NVLink peer", "NVLink peers"),
                     CountedText(needs.network_peers, "network peer", "network peers"));
}

Result<PlanSummary> Summarize(const Plan& plan, const VerifierReport& verified,
                              double predicted_seconds) {
  const std::optional<std::int64_t> bytes = DemandBytes(plan.demand);
  const std::optional<std::int64_t> logical_bytes = LogicalBytes(plan.demand);
  if (!bytes || !logical_bytes) {
    return InputError("plan", "the bytes to move do not fit 64 bits", "split the job");
  }
  PlanSummary summary;
  summary.bytes = *bytes;
  summary.logical_bytes = *logical_bytes;
  summary.tensors = static_cast<std::int64_t>(plan.job.tensors.size());
  summary.fragments = plan.demand.fragments.size();
  summary.classes = static_cast<std::int64_t>(plan.demand.classes.size());
  for (const Rank& rank : plan.job.ranks) {
    if (rank.source_group != kNoGroup) ++summary.source_ranks;
    if (rank.destination_group != kNoGroup) ++summary.destination_ranks;
  }
  summary.lower_bound_seconds = plan.certificate.lower_bound.seconds;
  summary.bound_by = plan.certificate.lower_bound.description;
  summary.predicted_seconds = predicted_seconds;
  summary.leaves_bytes_out = plan.traffic && !plan.traffic->omissions.empty();
  // The bound is that of all bytes.
  if (!summary.leaves_bytes_out) summary.gap = Gap(predicted_seconds, summary.lower_bound_seconds);
  summary.rounds = plan.round_count;
  summary.staging_bytes_max = verified.staging_bytes_max;
  summary.ops_per_group_max = verified.ops_per_group_max;
  summary.peers_max = verified.peers_max;
  summary.channels = plan.channels;
  summary.is_limited = !plan.traffic;
  summary.digest = plan.job_digest;
  return summary;
}

void AppendFields(const PlanSummary& summary, JsonValue::Object& fields) {
  fields.emplace_back("bytes", summary.bytes);
  fields.emplace_back("logicalBytes", summary.logical_bytes);
  fields.emplace_back("tensors", summary.tensors);
  fields.emplace_back("classes", summary.classes);
  fields.emplace_back("fragments", summary.fragments);
  fields.emplace_back("lowerBoundSeconds", summary.lower_bound_seconds);
  fields.emplace_back("boundBy", summary.bound_by);
  fields.emplace_back("predictedSeconds", summary.predicted_seconds);
  fields.emplace_back("gap", JsonOrNull(summary.gap));
  fields.emplace_back("rounds", summary.rounds);
  fields.emplace_back("stagingBytesMax", summary.staging_bytes_max);
  fields.emplace_back("opsPerGroupMax", summary.ops_per_group_max);
  fields.emplace_back("peersMax", summary.peers_max);
  fields.emplace_back("maxP2pPeers", summary.channels.max_p2p_peers);
  fields.emplace_back("nChannelsPerNetPeer", summary.channels.channels_per_net_peer);
}

std::string ChannelText(const ChannelHints& hints) {
  return hints.channels_per_net_peer > 0
             ? CountText(hints.channels_per_net_peer) + " per network peer"
             : "as NCCL chooses";
}

void AppendRows(const PlanSummary& summary, const Options& options, TextTable& table) {
  table.AddRow({"ranks", fmt::format("{} of the source, {} of the destination",
                                     CountText(summary.source_ranks),
                                     CountText(summary.destination_ranks))});
  table.AddRow({"tensors", fmt::format("{} of {}", CountText(summary.tensors),
                                       BytesText(summary.logical_bytes))});
  table.AddRow({"to move", fmt::format("{} in {} of {}", BytesText(summary.bytes),
                                       CountedText(summary.fragments, "fragment", "fragments"),
                                       CountedText(summary.classes, "class", "classes"))});
  table.AddRow({"lower bound",
                fmt::format("{}: {}", SecondsText(summary.lower_bound_seconds), summary.bound_by)});
  table.AddRow({"predicted time", SecondsText(summary.predicted_seconds)});
  const char* no_gap =
      summary.leaves_bytes_out ? "none: bytes are left out" : "none: the bound is 0";
  table.AddRow({"gap", summary.gap ? PercentText(*summary.gap) : no_gap});
  table.AddRow({"rounds", CountText(summary.rounds)});
  table.AddRow({"staging", Limited(MemoryText(summary.staging_bytes_max), summary.is_limited,
                                   MemoryText(options.staging_bytes)) +
                               " a rank"});
  table.AddRow({"operations", Limited(CountText(summary.ops_per_group_max), summary.is_limited,
                                      CountText(options.max_ops_per_group)) +
                                  " in an NCCL group"});
  table.AddRow(
      {"peers", Limited(CountText(summary.peers_max), summary.is_limited && options.max_peers > 0,
                        CountText(options.max_peers)) +
                    " a rank"});
  table.AddRow({"channels", ChannelText(summary.channels)});
}

void AppendFields(const Notices& notices, JsonValue::Object& fields) {
  fields.emplace_back("untouched", JsonList(notices.untouched));
  fields.emplace_back("lacking", JsonList(notices.lacking));
  fields.emplace_back("recompute", JsonList(notices.recompute));
}

void AppendRows(const Plan& plan, TextTable& table) {
  if (!plan.notices.untouched.empty()) {
    std::vector<std::string> moved;
    for (const Tensor& tensor : plan.job.tensors) moved.push_back(tensor.name);
    std::vector<std::string> patterns;
    for (const CoveredNames& covered : CoverByPrefix(plan.notices.untouched, moved)) {
      patterns.push_back(covered.pattern);
    }
    std::vector<std::string> lines = JoinNumberedNames(patterns);
    lines.front() = fmt::format(
        "{}: {}",
        CountedText(static_cast<std::int64_t>(plan.notices.untouched.size()), "tensor", "tensors"),
        lines.front());
    AppendList("left untouched", lines, table);
  }
  if (plan.traffic) AppendList("left out", OmissionLines(plan), table);
  AppendList("lacking", plan.notices.lacking, table);
  AppendList("recompute", plan.notices.recompute, table);
}

}  // namespace reshard
