// The conversions of one step on a device; as in copy_kernels.h, a launch returns its cudaError_t
// as a number, allocates nothing and waits for nothing.
#pragma once

#include <cstdint>

#include "kernels/conversion_image.h"
#include "kernels/cuda/copy_kernels.h"

namespace reshard {

// Does what RunConversions() does, with the same preconditions. `scratch` is device memory of
// location.scratch_words words of 4 bytes; launches that may run at the same time have their own.
// Launches nothing for an empty table.
[[nodiscard]] int LaunchConversions(const DeviceTables& tables, const ConversionLocation& location,
                                    std::uint32_t* scratch, CUstream_st* stream);

}  // namespace reshard
