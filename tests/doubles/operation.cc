#include "tests/doubles/operation.h"

#include <optional>
#include <utility>

#include "tests/doubles/device_memory.h"

namespace reshard::doubles {
namespace {

class Work final : public Operation {
 public:
  Work(std::function<void()> work, bool opens_memory)
      : work_(std::move(work)), opens_memory_(opens_memory) {}
  void Begin() override {
    std::optional<DeviceAccess> access;
    if (opens_memory_) access.emplace();
    work_();
  }

 private:
  std::function<void()> work_;
  bool opens_memory_;
};

}  // namespace

Progress& TheProgress() {
  static Progress* const progress = new Progress;
  return *progress;
}

void Reach(Marker& marker) {
  {
    const std::lock_guard lock(TheProgress().mutex);
    marker.reached = true;
  }
  TheProgress().changed.notify_all();
}

OperationMaker DeviceWork(std::function<void()> work) {
  return [work = std::move(work)] { return std::make_shared<Work>(work, true); };
}

OperationMaker HostWork(std::function<void()> work) {
  return [work = std::move(work)] { return std::make_shared<Work>(work, false); };
}

void RunToEnd(Operation& operation) {
  operation.Begin();
  std::unique_lock lock(TheProgress().mutex);
  TheProgress().changed.wait(lock, [&operation] { return operation.IsDone(); });
}

}  // namespace reshard::doubles
