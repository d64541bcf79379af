// Reads what the machine says of itself: the kernel, CUDA, and NVML where it is installed.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/nccl/cuda_status.h"
#include "runtime/nccl/placement.h"

namespace reshard {
namespace {

// Of the running kernel: containers of one machine share it, whatever names they go by. Where it
// cannot be read, the host's name.
std::string HostIdentity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (!boot.empty()) return boot;
  std::array<char, 64> name = {};  // as long as RankFacts::host
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '?';
  return name.data();
}

Result<Uuid> ReadUuid(int device) {
  cudaDeviceProp properties;
  if (Result<void> read =
          CheckCuda(cudaGetDeviceProperties(&properties, device), "GPU " + std::to_string(device),
                    "its properties cannot be read");
      !read) {
    return tl::unexpected(read.error());
  }
  Uuid uuid;
  std::memcpy(uuid.data(), properties.uuid.bytes, uuid.size());
  return uuid;
}

// Atomics of one GPU on the memory of another are native over NVLink, and not over PCIe. Zero where
// this process sees no other GPU.
Uuid ReadIsland(int device, const Uuid& own) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) return {};
  Uuid least = own;
  for (int other = 0; other < count; ++other) {
    int is_native = 0;
    if (other == device ||
        cudaDeviceGetP2PAttribute(&is_native, cudaDevP2PAttrNativeAtomicSupported, device, other) !=
            cudaSuccess ||
        is_native == 0) {
      continue;
    }
    if (const Result<Uuid> uuid = ReadUuid(other); uuid) least = std::min(least, *uuid);
  }
  static_cast<void>(cudaGetLastError());
  return least;
}

// The part of NVML that tells the NVLink fabric (nvml.h, nvmlGpuFabricInfo_v2_t).
struct FabricInfo {
  unsigned version = static_cast<unsigned>(sizeof(FabricInfo)) | (2U << 24U);
  unsigned char cluster[16] = {};
  int status = 0;
  unsigned clique = 0;
  unsigned char state = 0;
  unsigned health = 0;
};
constexpr unsigned char kFabricCompleted = 3;  // NVML_GPU_FABRIC_STATE_COMPLETED

// Leaves the fabric unknown where there is no NVML, no fabric, or one that is not up.
void ReadFabric(const char* pci_bus, MachineFacts& facts) {
  void* const nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml == nullptr) return;
  const auto init = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlShutdown"));
  const auto by_bus = reinterpret_cast<int (*)(const char*, void**)>(
      dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2"));
  const auto fabric =
      reinterpret_cast<int (*)(void*, FabricInfo*)>(dlsym(nvml, "nvmlDeviceGetGpuFabricInfoV"));
  if (init != nullptr && shutdown != nullptr && by_bus != nullptr && fabric != nullptr &&
      init() == 0) {
    void* device = nullptr;
    FabricInfo info;
    if (by_bus(pci_bus, &device) == 0 && fabric(device, &info) == 0 && info.status == 0 &&
        info.state == kFabricCompleted) {
      std::copy(std::begin(info.cluster), std::end(info.cluster), facts.fabric_cluster.begin());
      facts.fabric_clique = info.clique;
    }
    shutdown();
  }
  dlclose(nvml);
}

}  // namespace

Result<MachineFacts> ReadMachineFacts(int device) {
  MachineFacts facts;
  facts.host = HostIdentity();
  const Result<Uuid> uuid = ReadUuid(device);
  if (!uuid) return tl::unexpected(uuid.error());
  facts.gpu = *uuid;
  facts.island = ReadIsland(device, facts.gpu);
  std::array<char, 32> pci_bus = {};
  if (cudaDeviceGetPCIBusId(pci_bus.data(), static_cast<int>(pci_bus.size()), device) ==
      cudaSuccess) {
    ReadFabric(pci_bus.data(), facts);
  }
  return facts;
}

}  // namespace reshard
