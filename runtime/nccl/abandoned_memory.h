// Memory that a replay which could not be stopped may still read and write.
//
// What was abandoned stays so until the process ends. All functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "foundation/error.h"

namespace reshard {

struct MemoryRange {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

// Keeps `owner`, all that the replay uses, alive for ever.
void Abandon(std::span<const MemoryRange> ranges, std::shared_ptr<void> owner);

// Fails, with "restart the process", if any of `ranges` shares a byte with abandoned memory.
Result<void> CheckNotAbandoned(std::span<const MemoryRange> ranges, const std::string& place);

}  // namespace reshard
