#include "tests/doubles/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/doubles/controls.h"

namespace reshard::doubles {
namespace {

constexpr std::size_t kRangeBytes = std::size_t{16} << 30;
constexpr std::size_t kPageBytes = 4096;

class DeviceRange {
 public:
  DeviceRange() {
    file_ = memfd_create("device memory", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kRangeBytes)) != 0) std::abort();
    begin_ = Map(PROT_NONE);
    open_view_ = Map(PROT_READ | PROT_WRITE);
  }

  void* Allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t size = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (used_ + size > static_cast<std::size_t>(GetControls().device_bytes)) return nullptr;
    // First fit, with a page between neighbours: an access past an end is outside of IsDevice().
    std::size_t offset = 0;
    for (const auto& [other, other_bytes] : allocations_) {
      if (other - offset >= size + kPageBytes) break;
      offset = other + (other_bytes + kPageBytes - 1) / kPageBytes * kPageBytes + kPageBytes;
    }
    if (offset + size > kRangeBytes) return nullptr;
    allocations_[offset] = bytes;
    used_ += size;
    if (offset + size > reach_) {
      reach_ = offset + size;
      if (users_ > 0) Protect(PROT_READ | PROT_WRITE);
    }
    CountLive(&Live::device_bytes, static_cast<std::int64_t>(size));
    CountLive(&Live::device_allocations, 1);
    return begin_ + offset;
  }

  bool Free(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(OffsetOf(pointer));
    if (found == allocations_.end()) return false;
    const std::size_t size = (found->second + kPageBytes - 1) / kPageBytes * kPageBytes;
    // Gives the pages back, so that what is read after a free is not what was written before.
    static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(found->first), static_cast<off_t>(size)));
    used_ -= size;
    allocations_.erase(found);
    CountLive(&Live::device_bytes, -static_cast<std::int64_t>(size));
    CountLive(&Live::device_allocations, -1);
    return true;
  }

  bool Holds(const void* pointer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t offset = OffsetOf(pointer);
    auto next = allocations_.upper_bound(offset);
    if (next == allocations_.begin()) return false;
    --next;
    return offset + bytes <= next->first + next->second;
  }

  std::vector<void*> Find(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<void*> found;
    for (const auto& [offset, size] : allocations_) {
      if (size == bytes) found.push_back(begin_ + offset);
    }
    return found;
  }

  std::byte* InOpenView(const void* pointer) const {
    if (!IsInRange(pointer)) return static_cast<std::byte*>(const_cast<void*>(pointer));
    return open_view_ + OffsetOf(pointer);
  }

  int file() const { return file_; }
  // Beyond the range for an address before it, too.
  std::size_t OffsetOf(const void* pointer) const {
    return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(begin_);
  }
  bool IsInRange(const void* pointer) const { return OffsetOf(pointer) < kRangeBytes; }

  void Open() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) Protect(PROT_READ | PROT_WRITE);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) Protect(PROT_NONE);
  }

 private:
  std::byte* Map(int access) const {
    void* const range = mmap(nullptr, kRangeBytes, access, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (range == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(range);
  }
  void Protect(int access) {
    if (reach_ > 0 && mprotect(begin_, reach_, access) != 0) std::abort();
  }

  std::mutex mutex_;
  int file_ = -1;
  std::byte* begin_ = nullptr;
  std::byte* open_view_ = nullptr;
  std::size_t used_ = 0;
  std::size_t reach_ = 0;  // end of the highest allocation so far
  int users_ = 0;
  std::map<std::size_t, std::size_t> allocations_;  // offset -> bytes
};

DeviceRange& Range() {
  static DeviceRange* const range = new DeviceRange;
  return *range;
}

}  // namespace

void* AllocateDevice(std::size_t bytes) { return Range().Allocate(bytes); }
bool FreeDevice(void* pointer) { return Range().Free(pointer); }
bool IsDevice(const void* pointer, std::size_t bytes) { return Range().Holds(pointer, bytes); }
bool IsDeviceAddress(const void* pointer) { return Range().IsInRange(pointer); }

std::vector<void*> AllocationsOf(std::size_t bytes) { return Range().Find(bytes); }

std::byte* InOpenView(const void* pointer) { return Range().InOpenView(pointer); }

int DeviceFile() { return Range().file(); }
std::size_t DeviceRangeBytes() { return kRangeBytes; }
std::uint64_t OffsetInDevice(const void* pointer) { return Range().OffsetOf(pointer); }

DeviceAccess::DeviceAccess() { Range().Open(); }
DeviceAccess::~DeviceAccess() { Range().Close(); }

}  // namespace reshard::doubles
