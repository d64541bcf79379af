// The copy kernel one would write first: a block for each tile, a thread for each byte.
#pragma once

#include "kernels/cuda/copy_kernels.h"

namespace reshard::device_check {

// As LaunchCopies().
[[nodiscard]] int LaunchNaiveCopies(const DeviceTables& tables, const TableLocation& location,
                                    CUstream_st* stream);

}  // namespace reshard::device_check
