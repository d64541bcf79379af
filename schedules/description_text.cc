#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/carried_bytes.h"
#include "schedules/description.h"
#include "schedules/lane_names.h"
#include "schedules/number_text.h"
#include "schedules/rank_part.h"

namespace reshard {
namespace {

constexpr std::size_t kNamesShown = 4;  // of many tensors

// Rows of cells, each column as wide as its widest cell; numbers to the right.
class Table {
 public:
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // `left` says which columns stand to the left.
  std::string Text(std::string_view indent, const std::vector<bool>& left) const {
    std::vector<std::size_t> widths(left.size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line(indent);
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i > 0) line += "  ";
        line += left[i] ? fmt::format("{:<{}}", row[i], widths[i])
                        : fmt::format("{:>{}}", row[i], widths[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string RoundsText(const RoundRange& rounds) {
  if (rounds.first == rounds.last) return "none";
  if (rounds.last - rounds.first == 1) return fmt::format("{}", rounds.first);
  return fmt::format("{}-{}", rounds.first, rounds.last - 1);
}

std::string SideText(const SideDescription& side) {
  if (side.group == kNoGroup) return "no";
  const std::string computed =
      side.computed_parameters == 0
          ? ""
          : fmt::format(", {} computed from them", CountText(side.computed_parameters));
  return fmt::format("group {}, layout {}: {} parameters of {}{}, {} regions", side.group,
                     side.layout, CountText(side.parameters), BytesText(side.parameter_bytes),
                     computed, CountText(side.regions));
}

std::string WaitText(const Wait& wait) {
  return fmt::format("{} r after {} r{}", LaneName(wait.lane), LaneName(wait.on),
                     wait.lag == 0 ? "" : fmt::format(" - {}", wait.lag));
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text.empty() ? "none" : text;
}

// Domains of ranks with how many of them are there: "domain 0: 16, domain 2: 8".
std::string DomainsText(const Plan& plan, const std::vector<RankIndex>& ranks) {
  std::vector<std::int32_t> domains;
  for (const RankIndex rank : ranks) {
    domains.push_back(plan.job.ranks[static_cast<std::size_t>(rank)].domain);
  }
  std::sort(domains.begin(), domains.end());
  std::string text;
  for (std::size_t begin = 0; begin < domains.size();) {
    const std::size_t end = static_cast<std::size_t>(
        std::upper_bound(domains.begin(), domains.end(), domains[begin]) - domains.begin());
    text += fmt::format("{}domain {}: {}", text.empty() ? "" : ", ", domains[begin], end - begin);
    begin = end;
  }
  return text;
}

std::string TensorsText(const ClassDescription& description, const Plan& plan) {
  std::string text =
      fmt::format("{}: ", CountText(static_cast<std::int64_t>(description.tensors.size())));
  for (std::size_t i = 0; i < std::min(kNamesShown, description.tensors.size()); ++i) {
    const auto tensor = static_cast<std::size_t>(description.tensors[i]);
    text += (i > 0 ? ", " : "") + plan.job.tensors[tensor].name;
    const auto converted = std::ranges::lower_bound(plan.job.converted, description.tensors[i], {},
                                                    &ConvertedTensor::tensor);
    if (converted == plan.job.converted.end() || converted->tensor != description.tensors[i]) {
      continue;
    }
    text += fmt::format(" ({}, {} of {} {})", Name(plan.job.tensors[tensor].dtype),
                        Name(converted->kind), Name(converted->origin_dtype), converted->origin);
  }
  if (description.tensors.size() > kNamesShown) text += ", ..";
  return text;
}

std::string HopText(const HopDescription& hop) {
  return fmt::format("{} -> {} {} from round {}", hop.from, hop.to,
                     hop.is_same_domain ? "over NVLink" : "over NICs", hop.first_round);
}

struct RankBytes {
  std::int64_t sent_network = 0;
  std::int64_t sent_nvlink = 0;
  std::int64_t received_network = 0;
  std::int64_t received_nvlink = 0;
};

std::vector<RankBytes> BytesByRank(const Plan& plan) {
  std::vector<RankBytes> by_rank(plan.job.ranks.size());
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    const auto from = static_cast<std::size_t>(carried.from);
    const auto to = static_cast<std::size_t>(carried.to);
    const bool is_inside = plan.job.ranks[from].domain == plan.job.ranks[to].domain;
    (is_inside ? by_rank[from].sent_nvlink : by_rank[from].sent_network) += carried.bytes;
    (is_inside ? by_rank[to].received_nvlink : by_rank[to].received_network) += carried.bytes;
  }
  return by_rank;
}

}  // namespace

std::string Text(const RankDescription& description) {
  const Rank& record = description.record;
  std::string text = fmt::format("rank {}: GPU {}, node {}, domain {}\n", description.rank,
                                 record.gpu, record.node, record.domain);
  std::vector<std::string> waits;
  for (const Wait& wait : description.waits) waits.push_back(WaitText(wait));
  Table facts;
  facts.Add({"source", SideText(description.source)});
  facts.Add({"destination", SideText(description.destination)});
  facts.Add({"packs", BytesText(description.packed_bytes)});
  facts.Add({"unpacks", BytesText(description.unpacked_bytes)});
  facts.Add({"moves itself", BytesText(description.moved_bytes)});
  if (description.zeroed_bytes > 0) {
    facts.Add({"fills with zeros", BytesText(description.zeroed_bytes)});
  }
  facts.Add({"waits", Joined(waits)});
  facts.Add({"staging", BytesText(description.staging_bytes)});
  text += facts.Text("  ", {true, true});
  if (!description.slots.empty()) {
    Table slots;
    slots.Add({"slot", "filled by", "offset B", "instance B", "instances", "items", "rounds"});
    for (std::size_t i = 0; i < description.slots.size(); ++i) {
      const SlotDescription& slot = description.slots[i];
      slots.Add({fmt::format("{}", i), slot.kind == SlotKind::kPack ? "packing" : "receiving",
                 CountText(slot.offset), CountText(slot.capacity), CountText(slot.depth),
                 CountText(slot.items), RoundsText(slot.rounds)});
    }
    text += slots.Text("  ", {false, true, false, false, false, false, false});
  }
  if (!description.peers.empty()) {
    Table peers;
    peers.Add({"peer", "over", "sends", "sent", "receives", "received", "rounds"});
    for (const PeerDescription& peer : description.peers) {
      peers.Add({fmt::format("{}", peer.peer), peer.is_same_domain ? "NVLink" : "NICs",
                 CountText(peer.sends), BytesText(peer.sent_bytes), CountText(peer.receives),
                 BytesText(peer.received_bytes), RoundsText(peer.rounds)});
    }
    text += peers.Text("  ", {false, true, false, false, false, false, false});
  }
  return text;
}

std::string Text(const ClassDescription& description, const Plan& plan) {
  std::string text = fmt::format("class {}: {} ({} B) in {} fragments\n", description.demand_class,
                                 BytesText(description.bytes), CountText(description.bytes),
                                 CountText(description.fragments));
  Table facts;
  facts.Add({"tensors", TensorsText(description, plan)});
  facts.Add({"holders", fmt::format("{} ({})", RangesText(description.holders),
                                    DomainsText(plan, description.holders))});
  facts.Add({"needers", fmt::format("{} ({})", RangesText(description.needers),
                                    DomainsText(plan, description.needers))});
  text += facts.Text("  ", {true, true});
  for (const ColumnDescription& column : description.columns) {
    text += fmt::format("  column {}: bytes [{}, {}), {} in {} chunk{}\n", column.column,
                        CountText(column.bytes.begin), CountText(column.bytes.end),
                        BytesText(column.bytes.size()), CountText(column.chunks),
                        column.chunks == 1 ? "" : "s");
    for (const HopDescription& hop : column.hops) text += "    " + HopText(hop) + "\n";
    if (!column.local_moves.empty()) {
      text += fmt::format("    moved by {} themselves\n", RangesText(column.local_moves));
    }
  }
  return text;
}

std::string ClassTable(const Plan& plan) {
  std::vector<std::int64_t> columns(plan.demand.classes.size(), 0);
  for (const Column& column : plan.columns)
    ++columns[static_cast<std::size_t>(column.demand_class)];
  Table table;
  table.Add({"class", "volume", "fragments", "columns", "holders", "needers"});
  for (std::size_t i = 0; i < plan.demand.classes.size(); ++i) {
    const DemandClass& demand_class = plan.demand.classes[i];
    table.Add({fmt::format("{}", i), BytesText(demand_class.bytes),
               CountText(demand_class.fragment_count), CountText(columns[i]),
               RangesText(plan.demand.Holders(demand_class)),
               RangesText(plan.demand.Needers(demand_class))});
  }
  return table.Text("", {false, false, false, false, true, true});
}

std::string RankTable(const Plan& plan) {
  const std::vector<RankBytes> bytes = BytesByRank(plan);
  Table table;
  table.Add({"rank", "GPU", "domain", "source", "destination", "sent over NICs",
             "received over NICs", "sent over NVLink", "received over NVLink", "staging"});
  const auto group = [](std::int32_t index) {
    return index == kNoGroup ? std::string("-") : fmt::format("group {}", index);
  };
  for (std::size_t i = 0; i < plan.job.ranks.size(); ++i) {
    const Rank& rank = plan.job.ranks[i];
    table.Add({fmt::format("{}", i), fmt::format("{}", rank.gpu), fmt::format("{}", rank.domain),
               group(rank.source_group), group(rank.destination_group),
               BytesText(bytes[i].sent_network), BytesText(bytes[i].received_network),
               BytesText(bytes[i].sent_nvlink), BytesText(bytes[i].received_nvlink),
               BytesText(plan.traffic ? plan.traffic->staging_bytes[i]
                                      : StagingBytes(plan.schedules[i]))});
  }
  return table.Text("", {false, false, false, true, true, false, false, false, false, false});
}

}  // namespace reshard
