// One node as a topology file tells it, before anything is assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reshard {

// More of either in one node is refused.
inline constexpr std::int64_t kMaxDevicesPerNode = 1024;

// How far a NIC is from a GPU, nearest first; NCCL's path types PIX, PXB, PHB and SYS.
enum class NicDistance : std::uint8_t {
  kOneBridge,   // at most one PCIe bridge between
  kBridges,     // several PCIe bridges
  kHostBridge,  // through the CPU of one NUMA node; nvidia-smi's NODE too, as NCCL has none
  kSystem,      // between NUMA nodes, or the file does not tell
};

struct DescribedGpu {
  std::string name;                     // "GPU 3"
  std::optional<std::int64_t> sm;       // compute capability times ten
  std::string device;                   // PCI device, "0x2330"; empty: not told
  std::optional<double> pcie_gts;       // GT/s of its PCIe link
  std::optional<std::int64_t> nvlinks;  // in service; none: not told
  std::int32_t nvlink_island = 0;       // GPUs that NVLinks connect share one; 0.. by first GPU
};

struct DescribedNic {
  std::string name;                 // "mlx5_0", or what the file calls it
  std::string number;               // what --nic-of may say instead: "3"
  std::optional<double> line_gbps;  // line rate, GB/s; none: not told
};

struct NodeDescription {
  std::string source;  // what messages call it: the file, and the host where a file has several
  std::vector<DescribedGpu> gpus;  // never empty
  std::vector<DescribedNic> nics;
  std::vector<std::vector<NicDistance>> distances;  // [gpu][nic]
  bool coherent = false;                 // CPU and GPU share memory, as Grace and Vera do
  std::vector<std::string> assumptions;  // what the reader took for granted, a line each
};

}  // namespace reshard
