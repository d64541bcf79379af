// What tools/device-check.sh does on a GPU, as functions that return rows of its table.
//
// They use the CUDA runtime and NCCL only through calls that tests/doubles has too, so that the
// check itself is tested where there is no GPU.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/error.h"

namespace reshard::device_check {

enum class Verdict { kRight, kWrong, kSkipped };

struct Row {
  std::string check;
  Verdict verdict = Verdict::kRight;
  std::string figures;
};

struct Scale {
  std::int64_t bytes = std::int64_t{1} << 30;  // moved in each measurement; a multiple of 1 MiB
  int tables = 60;                             // random ones
  int repetitions = 20;                        // of each measurement
  int replays = 100;                           // of the captured job
};

// The functions of NCCL that are used; from a library that may be absent.
struct NcclFunctions {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) init_rank = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
};

// Random copy and digest tables: device against host twin and a copy byte by byte.
Result<std::vector<Row>> CheckContents(const Scale& scale, std::uint64_t seed);

// Rates, read and written bytes counted: pieces of several sizes by the kernel, by the naive
// kernel, and a device-to-device copy of as many bytes.
Result<std::vector<Row>> MeasureCopies(const Scale& scale);

// Pack, exchange with itself and unpack, captured once and replayed with changing contents. Without
// NCCL the exchange is a device-to-device copy, and the row says so.
Result<std::vector<Row>> ReplayOnOneGpu(const Scale& scale,
                                        const std::optional<NcclFunctions>& nccl);

// Ranks of one communicator on one GPU, each sending to the next: from NCCL 2.30 on.
Result<std::vector<Row>> ExchangeBetweenRanks(const Scale& scale,
                                              const std::optional<NcclFunctions>& nccl);

}  // namespace reshard::device_check
