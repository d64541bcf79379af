// Memory of the doubles' device: host memory that the host may not touch.
//
// All of it lies in one range of addresses without access, which is opened while any stream has
// work to do, because kernels use these addresses, and closed when the last stream is idle: a host
// access then is a fault of the process, as it would be with a real device. Copies and NCCL go
// through a second view of the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reshard::doubles {

// Null where Controls::device_bytes does not allow it. Aligned to 256 bytes at least.
void* AllocateDevice(std::size_t bytes);
// False if `pointer` was not allocated, or freed before.
bool FreeDevice(void* pointer);
// Whether [pointer, pointer + bytes) lies in one allocation.
bool IsDevice(const void* pointer, std::size_t bytes);
// Whether `pointer` lies in the range of device addresses, allocated or not.
bool IsDeviceAddress(const void* pointer);

// Allocations of exactly so many bytes, ascending: how a test finds what a rank keeps to itself.
std::vector<void*> AllocationsOf(std::size_t bytes);

// Where the doubles themselves find the byte that the device knows as `pointer`; host addresses are
// their own.
std::byte* InOpenView(const void* pointer);

// For other processes, which map it: the file that device memory lies in, its size, and where in it
// a device address is.
int DeviceFile();
std::size_t DeviceRangeBytes();
std::uint64_t OffsetInDevice(const void* pointer);

// Device memory may be touched while one of these lives.
class DeviceAccess {
 public:
  DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  ~DeviceAccess();
};

}  // namespace reshard::doubles
