// Memory of the doubles' device: host memory that the host may not touch.
//
// All of it lies in one range of addresses without access. It is opened while a kernel, a copy or
// an NCCL operation runs, and closed when the last of them has ended; a host access at any other
// time is a fault of the process, as it would be with a real device.
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

// Device memory may be touched while one of these lives.
class DeviceAccess {
 public:
  DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  ~DeviceAccess();
};

}  // namespace reshard::doubles
