#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace reshard {
namespace {

constexpr std::chrono::milliseconds kSilence{1000};
constexpr std::chrono::milliseconds kPeriod{200};
constexpr std::string_view kClearLine = "\r\x1b[K";

void WriteNow(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress() : start_(std::chrono::steady_clock::now()) {
  if (isatty(STDERR_FILENO) != 0) refresher_ = std::thread([this] { Refresh(); });
}

Progress::~Progress() { End(); }

void Progress::End() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (refresher_.joinable()) refresher_.join();
}

void Progress::Begin(std::string_view stage) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
}

void Progress::Refresh() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kSilence, [this] { return ended_; })) return;
  do {
    const auto elapsed =
        std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
    WriteNow(fmt::format("{}{} ({} s)", kClearLine, stage_, elapsed.count()));
  } while (!changed_.wait_for(lock, kPeriod, [this] { return ended_; }));
  WriteNow(kClearLine);
}

}  // namespace reshard
