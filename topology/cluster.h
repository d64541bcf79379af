// The machine as a value: a cluster of NVLink domains, nodes, GPUs and NICs, and the fabric
// between.
//
// GPUs and NICs are numbered 0.. in file order, domain by domain, node by node. Rates are GB/s (1e9
// bytes per second) each way, latencies microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reshard {

using GpuIndex = std::int32_t;
using NicIndex = std::int32_t;
using NodeIndex = std::int32_t;
using DomainIndex = std::int32_t;

struct Gpu {
  DomainIndex domain = 0;
  NodeIndex node = 0;
  double nvlink_gbps = 0;      // each way; 0 in a domain of one GPU
  double hbm_gbps = 0;         // as in the datasheet, reads and writes together
  std::vector<NicIndex> nics;  // the NICs that serve this GPU, ascending; may be empty
  bool dead = false;           // an override said so: no rank may sit here
  bool operator==(const Gpu&) const = default;
};

struct Nic {
  DomainIndex domain = 0;
  NodeIndex node = 0;
  std::int32_t rail = 0;
  double gbps = 0;             // each way; 0: out of service
  std::vector<GpuIndex> gpus;  // the GPUs it serves, ascending, never empty
  bool operator==(const Nic&) const = default;
};

struct Domain {
  std::string type;  // name of the type it was made from
  GpuIndex first_gpu = 0;
  std::int32_t gpu_count = 0;
  double nvlink_latency_us = 0;   // one hop inside the domain
  double network_latency_us = 0;  // one hop between domains
  bool operator==(const Domain&) const = default;
};

enum class RailCrossing {
  kFull,   // non-blocking between rails
  kSpine,  // a rail's NIC sum / spine_oversubscription may cross to other rails, each way
  kNone,   // crossing needs an NVLink hop
};

// What leaves, and what enters, a set of domains together is limited to the sum of its NICs divided
// by `oversubscription`.
struct Switch {
  std::vector<DomainIndex> domains;  // ascending
  double oversubscription = 1.0;
  bool operator==(const Switch&) const = default;
};

struct Fabric {
  RailCrossing rail_crossing = RailCrossing::kFull;
  double spine_oversubscription = 1.0;
  std::vector<Switch> switches;
  bool operator==(const Fabric&) const = default;
};

struct Cluster {
  std::vector<Domain> domains;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::int32_t node_count = 0;
  Fabric fabric;
  bool operator==(const Cluster&) const = default;
};

}  // namespace reshard
