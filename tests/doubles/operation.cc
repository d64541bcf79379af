#include "tests/doubles/operation.h"

#include <utility>

namespace reshard::doubles {
namespace {

class WorkOperation final : public Operation {
 public:
  explicit WorkOperation(std::function<void()> work) : work_(std::move(work)) {}
  void Begin() override { work_(); }

 private:
  std::function<void()> work_;
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
    marker.when = std::chrono::steady_clock::now();
  }
  TheProgress().changed.notify_all();
}

OperationMaker Work(std::function<void()> work) {
  return [work = std::move(work)] { return std::make_shared<WorkOperation>(work); };
}

void RunToEnd(Operation& operation) {
  operation.Begin();
  std::unique_lock lock(TheProgress().mutex);
  TheProgress().changed.wait(lock, [&operation] { return operation.IsDone(); });
}

}  // namespace reshard::doubles
