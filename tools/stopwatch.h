// Wall-clock seconds of the stages of a command, for its summary; no result depends on them.
#pragma once

#include <chrono>

namespace reshard {

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace reshard
