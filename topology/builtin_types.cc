#include "topology/builtin_types.h"

#include <array>
#include <string>

namespace reshard {
namespace {

// Every number below with where it comes from. Rates are what transfers reach, not line rates.
//
// NVLink per GPU, one way:
constexpr double kNvlinkA100 = 240;  // 12 links x 20 GB/s; commonly known, not measured by us
constexpr double kNvlinkH100 =
    370;  // NCCL 2.30 graph/topo.h: 18 x 20.6; measured 376-380 (nccl 1264)
constexpr double kNvlinkH200 = kNvlinkH100;  // the same NVLink 4 as H100
constexpr double kNvlinkB200 = 720;    // NCCL 2.30 graph/topo.h: 18 x 40.1; commonly known for B200
constexpr double kNvlinkGb200 = 720;   // the same; nvbandwidth on GB200 shows about 770
constexpr double kNvlinkGb300 = 720;   // the same NVLink 5 as GB200; commonly known
constexpr double kNvlinkVr200 = 1368;  // NCCL's mlopart note: 684 per half GPU
// NICs:
constexpr double kNicHdr = 24;   // 200 Gb/s at NDR's measured share of line rate; commonly known
constexpr double kNicNdr = 48;   // 400 Gb/s: measured 46-49 (nccl-tests 290, 267)
constexpr double kNic800G = 96;  // 800 Gb/s: assumed twice NDR, no measurement known
// HBM per GPU, reads and writes together, from the datasheets:
constexpr double kHbmA100 = 2000;    // 80 GB version, 2.0 TB/s
constexpr double kHbmH100 = 3350;    // SXM, 3.35 TB/s
constexpr double kHbmH200 = 4800;    // 4.8 TB/s
constexpr double kHbmB200 = 8000;    // 8 TB/s; GB200 and GB300 alike
constexpr double kHbmVr200 = 22000;  // 22 TB/s
// One hop, NCCL 2.30 graph/tuning.cc, protocol Simple:
constexpr double kNvlinkLatencyUs = 3.4;
constexpr double kNetworkLatencyUs = 14;

struct Entry {
  std::string_view name;
  std::int32_t gpu_count;      // DGX: one node is one NVLink domain; NVL72: 18 trays of 4
  std::int32_t gpus_per_node;  // from the vendor's system pages
  double nvlink_gbps;
  double hbm_gbps;
  std::int32_t nics_per_gpu;  // one each; VR200 two (commonly known)
  double nic_gbps;
};

constexpr std::array<Entry, 7> kEntries = {{
    {"dgx-a100", 8, 8, kNvlinkA100, kHbmA100, 1, kNicHdr},
    {"dgx-h100", 8, 8, kNvlinkH100, kHbmH100, 1, kNicNdr},
    {"dgx-h200", 8, 8, kNvlinkH200, kHbmH200, 1, kNicNdr},
    {"dgx-b200", 8, 8, kNvlinkB200, kHbmB200, 1, kNicNdr},
    {"gb200-nvl72", 72, 4, kNvlinkGb200, kHbmB200, 1, kNicNdr},
    {"gb300-nvl72", 72, 4, kNvlinkGb300, kHbmB200, 1, kNic800G},
    {"vr200-nvl72", 72, 4, kNvlinkVr200, kHbmVr200, 2, kNic800G},
}};

// Rail-optimised wiring: the k-th NIC of every node hangs on rail k.
DomainType Expand(const Entry& entry) {
  DomainType type;
  type.name = entry.name;
  type.gpu_count = entry.gpu_count;
  type.gpus_per_node = entry.gpus_per_node;
  type.nvlink_gbps = entry.nvlink_gbps;
  type.hbm_gbps = entry.hbm_gbps;
  for (std::int32_t nic = 0; nic < entry.gpus_per_node * entry.nics_per_gpu; ++nic) {
    type.nics.push_back({{nic / entry.nics_per_gpu}, entry.nic_gbps, nic});
  }
  type.nvlink_latency_us = kNvlinkLatencyUs;
  type.network_latency_us = kNetworkLatencyUs;
  return type;
}

}  // namespace

std::vector<std::string_view> BuiltinTypeNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

std::optional<DomainType> BuiltinType(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return Expand(entry);
  }
  return std::nullopt;
}

}  // namespace reshard
