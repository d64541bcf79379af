#include "tests/doubles/device_memory.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/doubles/controls.h"

namespace reshard::doubles {
namespace {

TEST(DeviceMemoryTest, CopiesToAndFro) {
  const Live before = LiveObjects();
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 1000), cudaSuccess);
  std::vector<char> sent(1000, 'x');
  std::vector<char> got(1000);
  EXPECT_EQ(cudaMemcpy(device, sent.data(), 1000, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(got.data(), device, 1000, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_TRUE(LiveObjects() == before);
}

TEST(DeviceMemoryTest, RefusesWhatIsOutsideOfAnAllocation) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 1000), cudaSuccess);
  std::vector<char> host(5000);
  EXPECT_EQ(cudaMemcpy(device, host.data(), 1001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_TRUE(IsDevice(static_cast<char*>(device) + 999, 1));
  EXPECT_FALSE(IsDevice(static_cast<char*>(device) + 999, 2));
  EXPECT_FALSE(IsDevice(host.data(), 1));
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, host.data(), 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(DeviceMemoryTest, RunsOutOnDemand) {
  const Controls usual = GetControls();
  Controls controls = usual;
  controls.device_bytes = LiveObjects().device_bytes + 8192;
  SetControls(controls);
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_EQ(cudaMalloc(&first, 5000), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 5000), cudaErrorMemoryAllocation);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 5000), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
  SetControls(usual);
}

// No fork while threads of streams live in other tests: the child starts afresh.
TEST(DeviceMemoryDeathTest, FaultsWhenTheHostTouchesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  EXPECT_DEATH(*static_cast<volatile char*>(device) = 1, "");
  {
    const DeviceAccess access;
    *static_cast<volatile char*>(device) = 1;
  }
  EXPECT_DEATH(*static_cast<volatile char*>(device) = 1, "");
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

}  // namespace
}  // namespace reshard::doubles
