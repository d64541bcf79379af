#include "runtime/nccl/abandoned_memory.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace reshard {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<MemoryRange> ranges;
  std::vector<std::shared_ptr<void>> owners;
};

// Never destroyed: what it keeps must outlive everything.
Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

bool Overlap(const MemoryRange& a, const MemoryRange& b) {
  const auto begin = [](const MemoryRange& range) {
    return reinterpret_cast<std::uintptr_t>(range.data);
  };
  const auto end = [&begin](const MemoryRange& range) {
    return begin(range) + static_cast<std::uintptr_t>(range.bytes);
  };
  return a.bytes > 0 && b.bytes > 0 && begin(a) < end(b) && begin(b) < end(a);
}

}  // namespace

void Abandon(std::span<const MemoryRange> ranges, std::shared_ptr<void> owner) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.ranges.insert(registry.ranges.end(), ranges.begin(), ranges.end());
  registry.owners.push_back(std::move(owner));
}

Result<void> CheckNotAbandoned(std::span<const MemoryRange> ranges, const std::string& place) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (const MemoryRange& abandoned : registry.ranges) {
    for (const MemoryRange& range : ranges) {
      if (!Overlap(abandoned, range)) continue;
      return RunError(place,
                      "a replay that could not be stopped may still write to memory it is given",
                      "restart the process");
    }
  }
  return {};
}

}  // namespace reshard
