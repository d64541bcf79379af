#include "tests/doubles/stream.h"

#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"

namespace reshard::doubles {

class StreamQueue {
 public:
  void Push(std::shared_ptr<Operation> operation) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(operation));
    }
    changed_.notify_all();
  }
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }
  bool IsIdle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && !is_busy_;
  }
  void Drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && !is_busy_; });
  }
  // The stream's thread.
  void Run() {
    std::unique_lock lock(mutex_);
    std::optional<DeviceAccess> access;
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::shared_ptr<Operation> operation = std::move(waiting_.front());
      waiting_.pop_front();
      is_busy_ = true;
      lock.unlock();
      if (!access) access.emplace();
      RunToEnd(*operation);
      operation.reset();
      lock.lock();
      if (waiting_.empty()) access.reset();  // before anyone is told that the stream is idle
      is_busy_ = false;
      changed_.notify_all();
    }
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Operation>> waiting_;
  bool is_busy_ = false;
  bool closed_ = false;
};

namespace {

// Captures that this thread began and has not ended.
std::vector<std::shared_ptr<Capture>>& CapturesOfThisThread() {
  thread_local std::vector<std::shared_ptr<Capture>> captures;
  std::erase_if(captures, [](const auto& capture) { return capture->ended; });
  return captures;
}

}  // namespace

bool IsThisThreadCapturing() { return !CapturesOfThisThread().empty(); }

void InvalidateCaptures() {
  for (const auto& capture : CapturesOfThisThread()) capture->invalidated = true;
}

void BeginCaptureOfThisThread(const std::shared_ptr<Capture>& capture) {
  CapturesOfThisThread().push_back(capture);
}

}  // namespace reshard::doubles

namespace reshard {

// What kernels that are compiled for the host (kernels/cuda/host_launch.h) run on.
int RunOnStream(cudaStream_t stream, std::function<void()> work) {
  using namespace doubles;
  if (stream == nullptr) {
    // The legacy stream waits for all others, which a capture cannot.
    if (IsThisThreadCapturing()) {
      InvalidateCaptures();
      return cudaErrorStreamCaptureImplicit;
    }
    ++CallsOfThisThread().kernel_launches;
    const DeviceAccess access;
    work();
    return cudaSuccess;
  }
  if (!stream->IsCapturing()) ++CallsOfThisThread().kernel_launches;
  stream->Add(Work(std::move(work)));
  return cudaSuccess;
}

}  // namespace reshard

CUstream_st::CUstream_st() : queue(std::make_shared<reshard::doubles::StreamQueue>()) {
  // The thread ends by itself when the stream is closed and all is done; what never ends, because
  // its communicator was abandoned, must not hold up the one who destroys the stream.
  std::thread([queue = queue] { queue->Run(); }).detach();
}

CUstream_st::~CUstream_st() { queue->Close(); }

void CUstream_st::Add(reshard::doubles::OperationMaker maker) {
  if (!IsCapturing()) return queue->Push(maker());
  const auto node = static_cast<reshard::doubles::NodeIndex>(capture->nodes.size());
  capture->nodes.push_back({std::move(maker), tail});
  tail = {node};
}

void CUstream_st::AddExternalRecord(CUevent_st* event) {
  Add(reshard::doubles::Work([] {}));
  capture->nodes.back().records = event;
}

bool CUstream_st::IsCapturing() {
  if (capture != nullptr && capture->ended) {
    capture.reset();
    tail.clear();
  }
  return capture != nullptr;
}

bool CUstream_st::IsIdle() const { return queue->IsIdle(); }
void CUstream_st::Drain() { queue->Drain(); }
