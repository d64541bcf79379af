// A plan and its cluster summed up by NVLink domain: what a picture of the cluster shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/plan.h"
#include "topology/cluster.h"

namespace reshard {

// A NIC's way, of a resource's name: "NIC 17 out", "NIC 17 in".
struct NicName {
  NicIndex nic = 0;
  bool is_out = false;
};

// Nothing for all other resources.
std::optional<NicName> ParseNicName(std::string_view name);

// Mean utilisation of one resource, by the simulator's name of it: "NIC 17 out", "GPU 3 NVLink in".
struct ResourceBusy {
  std::string name;
  double busy = 0;  // share of the time, 0..1
};

struct DomainSummary {
  std::string type;
  std::int32_t gpus = 0;
  std::int32_t sources = 0;       // ranks of the source alone
  std::int32_t destinations = 0;  // of the destination alone
  std::int32_t both = 0;
  std::int32_t nics = 0;          // in service
  std::int64_t nvlink_bytes = 0;  // sent inside the domain
  std::int64_t egress_bytes = 0;  // over NICs
  std::int64_t ingress_bytes = 0;
  double egress_busy = 0;  // mean over its NICs in service; 0 without utilisation
  double ingress_busy = 0;
  std::int32_t ranks() const { return sources + destinations + both; }
};

struct DomainTraffic {
  std::vector<DomainSummary> domains;            // by domain of the cluster
  std::vector<std::vector<std::int64_t>> bytes;  // [from][to], over NICs; 0 on the diagonal
};

// `plan` has passed Verify(); its ranks sit on GPUs of `cluster`.
DomainTraffic SumByDomain(const Plan& plan, const Cluster& cluster,
                          const std::vector<ResourceBusy>& utilisation);

}  // namespace reshard
