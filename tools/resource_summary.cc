#include "tools/resource_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>

#include "schedules/number_text.h"
#include "tools/amounts.h"

namespace reshard {
namespace {

// "NIC 17 out" -> "NIC out".
std::string WithoutNumbers(std::string_view name) {
  std::string kind;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find(' '));
    name.remove_prefix(std::min(name.size(), word.size() + 1));
    if (word.find_first_not_of("0123456789") == std::string_view::npos) continue;
    if (!kind.empty()) kind += ' ';
    kind += word;
  }
  return kind;
}

}  // namespace

std::vector<ResourceKind> ResourceKinds(std::span<const ResourceUse> uses) {
  std::vector<ResourceKind> kinds;
  std::map<std::string, std::size_t> index_of;
  for (const ResourceUse& use : uses) {
    const auto [entry, added] = index_of.try_emplace(WithoutNumbers(use.name), kinds.size());
    if (added) kinds.push_back({entry->first, 0, 0, 0, use});
    ResourceKind& kind = kinds[entry->second];
    ++kind.resources;
    kind.bytes += use.bytes;
    kind.busy_mean += use.busy;
    if (use.busy > kind.busiest.busy) kind.busiest = use;
  }
  for (ResourceKind& kind : kinds) kind.busy_mean /= static_cast<double>(kind.resources);
  return kinds;
}

TextTable ResourceTable(const std::vector<ResourceKind>& kinds) {
  TextTable table({{"resource", Alignment::kLeft},
                   {"number", Alignment::kRight},
                   {"carry", Alignment::kRight},
                   {"busy, mean", Alignment::kRight},
                   {"busiest", Alignment::kRight},
                   {"", Alignment::kLeft}});
  for (const ResourceKind& kind : kinds) {
    table.AddRow({kind.name, CountText(kind.resources), BytesText(kind.bytes),
                  PercentText(kind.busy_mean), PercentText(kind.busiest.busy),
                  fmt::format("{}: {} at {}", kind.busiest.name, BytesText(kind.busiest.bytes),
                              RateText(kind.busiest.rate_gbps))});
  }
  return table;
}

}  // namespace reshard
