#include "tests/doubles/controls.h"

#include <mutex>

#include "tests/doubles/operation.h"

namespace reshard::doubles {
namespace {

// Never destroyed: a stream that was abandoned may outlive main.
struct State {
  std::mutex mutex;
  Controls controls;
  Live live;
};
State& TheState() {
  static State* const state = new State;
  return *state;
}

}  // namespace

Controls GetControls() {
  const std::lock_guard lock(TheState().mutex);
  return TheState().controls;
}

void SetControls(const Controls& controls) {
  {
    const std::lock_guard progress(TheProgress().mutex);
    const std::lock_guard lock(TheState().mutex);
    TheState().controls = controls;
  }
  TheProgress().changed.notify_all();
}

Calls& CallsOfThisThread() {
  thread_local Calls calls;
  return calls;
}

Live LiveObjects() {
  const std::lock_guard lock(TheState().mutex);
  return TheState().live;
}

void CountLive(std::int64_t Live::*field, std::int64_t change) {
  const std::lock_guard lock(TheState().mutex);
  TheState().live.*field += change;
}

}  // namespace reshard::doubles
