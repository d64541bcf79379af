#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"

namespace reshard {

int RunOnStream(cudaStream_t stream, std::function<void()> work);

namespace doubles {
namespace {

class CudaStreamTest : public ::testing::Test {
 protected:
  CudaStreamTest() {
    for (cudaStream_t* stream : {&first_, &second_}) {
      EXPECT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    }
    for (cudaEvent_t* event : {&forked_, &joined_}) {
      EXPECT_EQ(cudaEventCreateWithFlags(event, cudaEventDisableTiming), cudaSuccess);
    }
  }
  ~CudaStreamTest() override {
    for (cudaStream_t stream : {first_, second_}) {
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    }
    for (cudaEvent_t event : {forked_, joined_}) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_TRUE(LiveObjects() == before_);
  }
  // Appends `number` to the log when the stream gets there.
  void Log(cudaStream_t stream, int number) {
    EXPECT_EQ(RunOnStream(stream,
                          [this, number] {
                            const std::lock_guard lock(mutex_);
                            log_.push_back(number);
                          }),
              cudaSuccess);
  }
  // Holds the stream up until Release().
  void Hold(cudaStream_t stream) {
    EXPECT_EQ(RunOnStream(stream,
                          [this] {
                            while (!released_) std::this_thread::yield();
                          }),
              cudaSuccess);
  }
  void Release() { released_ = true; }
  std::vector<int> Logged() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  Live before_ = LiveObjects();
  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t joined_ = nullptr;
  std::mutex mutex_;
  std::vector<int> log_;
  std::atomic<bool> released_ = false;
};

TEST_F(CudaStreamTest, StreamsDoNotWaitForEachOther) {
  Hold(first_);
  Log(first_, 1);
  Log(second_, 2);
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first_), cudaErrorNotReady);
  EXPECT_EQ(Logged(), std::vector<int>({2}));
  Release();
  EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first_), cudaSuccess);
  EXPECT_EQ(Logged(), std::vector<int>({2, 1}));
}

TEST_F(CudaStreamTest, AWaitHoldsUpWhatComesAfterIt) {
  Hold(first_);
  Log(first_, 1);
  EXPECT_EQ(cudaEventRecord(joined_, first_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(second_, joined_, 0), cudaSuccess);
  Log(second_, 2);
  EXPECT_EQ(cudaEventQuery(joined_), cudaErrorNotReady);
  Release();
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(joined_), cudaSuccess);
  EXPECT_EQ(Logged(), std::vector<int>({1, 2}));
}

// first: 1, then 4 when both have come together; second: 2, 3.
class CaptureTest : public CudaStreamTest {
 protected:
  void Begin() {
    EXPECT_EQ(cudaStreamBeginCapture(first_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  void Fork() {
    EXPECT_EQ(cudaEventRecord(forked_, first_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second_, forked_, 0), cudaSuccess);
  }
  void Join() {
    EXPECT_EQ(cudaEventRecord(joined_, second_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(first_, joined_, 0), cudaSuccess);
  }
  cudaError_t End() {
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(first_, &graph);
    if (ended != cudaSuccess) return ended;
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return made;
  }
  ~CaptureTest() override {
    if (executable_ == nullptr) return;
    EXPECT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
  }
  cudaGraphExec_t executable_ = nullptr;
};

TEST_F(CaptureTest, AGraphRunsInEveryOrderThatItsEdgesAllow) {
  Begin();
  Fork();
  Log(first_, 1);
  Log(second_, 2);
  Log(second_, 3);
  Join();
  Log(first_, 4);
  ASSERT_EQ(End(), cudaSuccess);
  EXPECT_TRUE(Logged().empty());
  std::set<std::vector<int>> orders;
  for (int replay = 0; replay < 200; ++replay) {
    ASSERT_EQ(cudaGraphLaunch(executable_, first_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
    orders.insert(Logged());
    log_.clear();
  }
  EXPECT_EQ(orders, std::set<std::vector<int>>({{1, 2, 3, 4}, {2, 1, 3, 4}, {2, 3, 1, 4}}));
}

TEST_F(CaptureTest, AnExternalRecordBelongsToEveryReplay) {
  Begin();
  Hold(first_);
  EXPECT_EQ(cudaEventRecordWithFlags(forked_, first_, cudaEventRecordExternal), cudaSuccess);
  ASSERT_EQ(End(), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(forked_), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable_, first_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(forked_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamWaitEvent(second_, forked_, 0), cudaSuccess);
  Log(second_, 1);
  EXPECT_EQ(cudaStreamQuery(second_), cudaErrorNotReady);
  Release();
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(Logged(), std::vector<int>({1}));
}

TEST_F(CaptureTest, CallsThatWaitSpoilACapture) {
  void* memory = nullptr;
  char byte = 0;
  const std::vector<std::function<cudaError_t()>> forbidden = {
      [&] { return cudaMalloc(&memory, 64); },
      [&] { return cudaMemcpy(&byte, &byte, 1, cudaMemcpyHostToHost); },
      [&] { return cudaStreamSynchronize(first_); },
      [&] { return cudaStreamSynchronize(second_); },
      [&] { return cudaStreamQuery(first_); },
  };
  for (std::size_t i = 0; i < forbidden.size(); ++i) {
    SCOPED_TRACE(i);
    Begin();
    Log(first_, 1);
    EXPECT_EQ(forbidden[i](), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(End(), cudaErrorStreamCaptureInvalidated);
  }
  static_cast<void>(cudaGetLastError());
  EXPECT_TRUE(Logged().empty());
}

TEST_F(CaptureTest, TheLegacyStreamSpoilsACapture) {
  Begin();
  EXPECT_EQ(RunOnStream(nullptr, [] {}), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(End(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureTest, AForkThatDoesNotComeBackIsAnError) {
  Begin();
  Fork();
  Log(second_, 1);
  Log(first_, 2);
  EXPECT_EQ(End(), cudaErrorStreamCaptureUnjoined);
  Log(second_, 3);  // the stream is free again
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(Logged(), std::vector<int>({3}));
}

TEST_F(CaptureTest, AWaitForWorkOutsideIsAnError) {
  EXPECT_EQ(cudaEventRecord(joined_, second_), cudaSuccess);
  Begin();
  Log(first_, 1);
  EXPECT_EQ(cudaStreamWaitEvent(first_, joined_, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(End(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureTest, CountsWhatIsCalledNotWhatIsCaptured) {
  Calls& calls = CallsOfThisThread();
  calls = {};
  Log(first_, 1);
  EXPECT_EQ(calls.kernel_launches, 1);
  Begin();
  Log(first_, 1);
  EXPECT_EQ(calls.kernel_launches, 1);
  ASSERT_EQ(End(), cudaSuccess);
  calls = {};
  ASSERT_EQ(cudaGraphLaunch(executable_, first_), cudaSuccess);
  Calls wanted;
  wanted.graph_launches = 1;
  EXPECT_TRUE(calls == wanted);
}

TEST_F(CudaStreamTest, EventsMeasureTimeWhereWanted) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&begin, cudaEventDefault), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&end, cudaEventDefault), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(begin, first_), cudaSuccess);
  const auto pause = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  EXPECT_EQ(cudaLaunchHostFunc(first_, pause, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, first_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 2);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, forked_, end), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(begin), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
}

}  // namespace
}  // namespace doubles
}  // namespace reshard
