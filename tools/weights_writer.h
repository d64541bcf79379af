// A safetensors file, written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

// A parameter and its bytes, row-major.
struct StoredParameter {
  Parameter parameter;
  std::span<const std::byte> bytes;
};

// Writes `parameters`, their bytes in this order, each beginning at a multiple of its element
// size as readers that map the file expect: larger elements first. `metadata` becomes
// "__metadata__". Returns the bytes written.
Result<std::int64_t> WriteSafetensors(const std::string& path,
                                      const std::map<std::string, std::string>& metadata,
                                      std::vector<StoredParameter> parameters);

}  // namespace reshard
