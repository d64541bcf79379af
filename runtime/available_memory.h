// How much memory this process may still take before the machine begins to fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace reshard {

// Bytes from the "MemAvailable" line of a Linux /proc/meminfo; nothing if there is none.
std::optional<std::int64_t> ParseAvailableMemory(std::string_view meminfo);

// Bytes available on this machine, less where a control group allows less; nothing where the system
// does not say.
std::optional<std::int64_t> AvailableMemoryBytes();

}  // namespace reshard
