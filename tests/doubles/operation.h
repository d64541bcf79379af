// What a stream or a graph carries out: kernels, copies, NCCL groups, waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace reshard::doubles {

// One lock and one signal for all that waits for another stream, rank or thread.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
};
Progress& TheProgress();

// A point in the work of a stream that has been reached, or not yet. Guarded by TheProgress().
struct Marker {
  bool reached = false;
  std::chrono::steady_clock::time_point when;  // it was reached
};
void Reach(Marker& marker);

// One run of a piece of work.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  // Starts it; kernels and copies are over when it returns.
  virtual void Begin() = 0;
  // Called with the lock of TheProgress() held, which signals when it may have become true.
  virtual bool IsDone() const { return true; }
};

// Makes a fresh run each time a graph is replayed.
using OperationMaker = std::function<std::shared_ptr<Operation>()>;

// A kernel, a copy, a host function, a record of an event: over when it has been called.
OperationMaker Work(std::function<void()> work);

// Begins and waits until it is done.
void RunToEnd(Operation& operation);

}  // namespace reshard::doubles
