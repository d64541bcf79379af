// reshard-device-check: what tools/device-check.sh runs on a machine with a GPU. Prints a table.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "tests/kernels/cuda/device_check/checks.h"
#include "tests/kernels/cuda/device_check/device_buffer.h"

namespace reshard::device_check {
namespace {

void Print(const Row& row) {
  const char* verdict = row.verdict == Verdict::kRight   ? "right"
                        : row.verdict == Verdict::kWrong ? "WRONG"
                                                         : "skipped";
  std::printf("%-34s  %-8s  %s\n", row.check.c_str(), verdict, row.figures.c_str());
  std::fflush(stdout);
}

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

std::optional<NcclFunctions> LoadNccl() {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW);  // stays open: communicators need it
  NcclFunctions nccl;
  if (library == nullptr || !Find(library, "ncclGetVersion", nccl.get_version) ||
      !Find(library, "ncclGetUniqueId", nccl.get_unique_id) ||
      !Find(library, "ncclCommInitRank", nccl.init_rank) ||
      !Find(library, "ncclCommDestroy", nccl.destroy) ||
      !Find(library, "ncclGroupStart", nccl.group_start) ||
      !Find(library, "ncclGroupEnd", nccl.group_end) || !Find(library, "ncclSend", nccl.send) ||
      !Find(library, "ncclRecv", nccl.receive)) {
    return std::nullopt;
  }
  return nccl;
}

Result<void> PrintDevice(const std::optional<NcclFunctions>& nccl) {
  cudaDeviceProp properties;
  const Result<void> asked = Checked(cudaGetDeviceProperties(&properties, 0), "device 0");
  if (!asked) return asked;
  int version = 0;
  if (nccl) static_cast<void>(nccl->get_version(&version));
  std::string figures = std::string(properties.name) + ", sm_" + std::to_string(properties.major) +
                        std::to_string(properties.minor) + ", CUDA runtime " +
                        std::to_string(CUDART_VERSION) + ", ";
  figures += nccl ? "NCCL " + std::to_string(version) : "no NCCL";
  Print({"device", Verdict::kRight, std::move(figures)});
  return {};
}

// 0 if every row is right, 4 if not, 1 where there is no device to run on.
int Run(const Scale& scale, std::uint64_t seed) {
  const std::optional<NcclFunctions> nccl = LoadNccl();
  if (const Result<void> fine = PrintDevice(nccl); !fine) {
    std::fprintf(stderr, "reshard-device-check: %s\n", ToString(fine.error()).c_str());
    return 1;
  }
  const std::function<Result<std::vector<Row>>()> checks[] = {
      [&] { return CheckContents(scale, seed); },
      [&] { return MeasureCopies(scale); },
      [&] { return ReplayOnOneGpu(scale, nccl); },
      [&] { return ExchangeBetweenRanks(scale, nccl); },
  };
  int status = 0;
  for (const auto& check : checks) {
    const Result<std::vector<Row>> rows = check();
    if (!rows) {
      Print({rows.error().place, Verdict::kWrong, rows.error().reason});
      status = 4;
      continue;
    }
    for (const Row& row : *rows) {
      Print(row);
      if (row.verdict == Verdict::kWrong) status = 4;
    }
  }
  return status;
}

}  // namespace
}  // namespace reshard::device_check

int main(int argc, char** argv) {
  // Has to be set before NCCL is loaded; without effect before 2.30.
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  reshard::device_check::Scale scale;
  if (argc == 2 && std::strcmp(argv[1], "--small") == 0) {
    scale = {std::int64_t{1} << 22, 10, 1, 3};
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: reshard-device-check [--small]\n");
    return 2;
  }
  return reshard::device_check::Run(scale, 1);
}
