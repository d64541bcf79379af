// A line on the terminal that says what a command is busy with, for commands that take a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace reshard {

// Shows nothing for the first second, nothing at all where standard error is not a terminal, and
// leaves no trace behind when it ends.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From now on `stage` is what the line says. From any thread.
  void Begin(std::string_view stage);
  // Clears the line for good; what the command prints comes after. The destructor does it too.
  void End();

 private:
  void Refresh();  // body of the thread

  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;      // guarded by mutex_
  bool ended_ = false;     // guarded by mutex_
  std::thread refresher_;  // not started where there is no terminal
};

}  // namespace reshard
