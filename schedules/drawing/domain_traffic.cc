#include "schedules/drawing/domain_traffic.h"

#include <charconv>
#include <cstddef>
#include <system_error>

#include "schedules/carried_bytes.h"

namespace reshard {
namespace {

void CountRanks(const Plan& plan, std::vector<DomainSummary>& domains) {
  for (const Rank& rank : plan.job.ranks) {
    DomainSummary& domain = domains[static_cast<std::size_t>(rank.domain)];
    const bool is_source = rank.source_layout != kNoLayout;
    const bool is_destination = rank.destination_layout != kNoLayout;
    ++(is_source && is_destination ? domain.both
       : is_source                 ? domain.sources
                                   : domain.destinations);
  }
}

void CountBytes(const Plan& plan, DomainTraffic& traffic) {
  const auto domain_of = [&plan](RankIndex rank) {
    return static_cast<std::size_t>(plan.job.ranks[static_cast<std::size_t>(rank)].domain);
  };
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    const std::size_t from = domain_of(carried.from);
    const std::size_t to = domain_of(carried.to);
    if (from == to) {
      traffic.domains[from].nvlink_bytes += carried.bytes;
    } else {
      traffic.domains[from].egress_bytes += carried.bytes;
      traffic.domains[to].ingress_bytes += carried.bytes;
      traffic.bytes[from][to] += carried.bytes;
    }
  }
}

}  // namespace

std::optional<NicName> ParseNicName(std::string_view name) {
  constexpr std::string_view kPrefix = "NIC ";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  NicName parsed;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), parsed.nic);
  if (error != std::errc() || parsed.nic < 0) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (name != " out" && name != " in") return std::nullopt;
  parsed.is_out = name == " out";
  return parsed;
}

DomainTraffic SumByDomain(const Plan& plan, const Cluster& cluster,
                          const std::vector<ResourceBusy>& utilisation) {
  DomainTraffic traffic;
  const std::size_t count = cluster.domains.size();
  traffic.domains.resize(count);
  traffic.bytes.assign(count, std::vector<std::int64_t>(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    traffic.domains[i].type = cluster.domains[i].type;
    traffic.domains[i].gpus = cluster.domains[i].gpu_count;
  }
  for (const Nic& nic : cluster.nics) {
    if (nic.gbps > 0) ++traffic.domains[static_cast<std::size_t>(nic.domain)].nics;
  }
  CountRanks(plan, traffic.domains);
  CountBytes(plan, traffic);
  for (const ResourceBusy& resource : utilisation) {
    const auto nic = ParseNicName(resource.name);
    if (!nic || nic->nic >= static_cast<std::int32_t>(cluster.nics.size())) continue;
    DomainSummary& domain = traffic.domains[static_cast<std::size_t>(
        cluster.nics[static_cast<std::size_t>(nic->nic)].domain)];
    if (domain.nics == 0) continue;
    (nic->is_out ? domain.egress_busy : domain.ingress_busy) += resource.busy / domain.nics;
  }
  return traffic;
}

}  // namespace reshard
