// A kind of NVLink domain: what cluster.json calls a type.
//
// Rates are GB/s (1e9 bytes per second) each way unless said otherwise, latencies microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reshard {

// One NIC of every node of the type.
struct NicType {
  std::vector<std::int32_t> gpus;  // served GPUs by index in the node, ascending, never empty
  double gbps = 0;
  std::int32_t rail = 0;
  bool operator==(const NicType&) const = default;
};

struct DomainType {
  std::string name;
  std::int32_t gpu_count = 0;
  std::int32_t gpus_per_node = 0;  // the last node may hold fewer
  double nvlink_gbps = 0;          // per GPU
  double hbm_gbps = 0;             // per GPU, as in the datasheet, reads and writes together
  std::vector<NicType> nics;       // of one node, in numbering order; may be empty
  double nvlink_latency_us = 0;    // one hop inside the domain
  double network_latency_us = 0;   // one hop between domains
  bool operator==(const DomainType&) const = default;
};

}  // namespace reshard
