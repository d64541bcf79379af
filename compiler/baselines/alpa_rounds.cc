#include "compiler/baselines/alpa_rounds.h"

#include <algorithm>
#include <random>
#include <utility>

namespace reshard {
namespace {

constexpr int kTrials = 100;

std::size_t At(std::int32_t worker) { return static_cast<std::size_t>(worker); }

// A round in the making.
struct Trial {
  std::vector<AlpaTask> tasks;
  double load_variance = 0;
};

class AlpaOrder {
 public:
  AlpaOrder(std::span<const AlpaWork> works, std::int32_t workers)
      : works_(works), loads_(At(workers)), awaiting_(At(workers)), busy_(At(workers)) {
    std::vector<bool> sends(loads_.size());
    for (std::size_t work = 0; work < works.size(); ++work) {
      left_.push_back(work);
      for (const std::int32_t sender : works[work].senders) sends[At(sender)] = true;
      for (const std::int32_t receiver : works[work].receivers) {
        if (awaiting_[At(receiver)]++ == 0) ++receivers_;
      }
    }
    senders_ = static_cast<double>(std::count(sends.begin(), sends.end(), true));
  }

  std::vector<std::vector<AlpaTask>> Run() {
    std::vector<std::vector<AlpaTask>> rounds;
    while (!left_.empty()) {
      Trial best = Draw();
      for (int trial = 1; trial < kTrials; ++trial) {
        Trial other = Draw();
        const bool better = other.tasks.size() != best.tasks.size()
                                ? other.tasks.size() > best.tasks.size()
                                : other.load_variance < best.load_variance;
        if (better) best = std::move(other);
      }
      Take(best);
      rounds.push_back(std::move(best.tasks));
    }
    return rounds;
  }

 private:
  // Fisher and Yates, works drawn one by one.
  Trial Draw() {
    busy_.assign(busy_.size(), false);
    Trial trial;
    double sum = sum_;
    double squares = squares_;
    std::int64_t free_receivers = receivers_;
    for (std::size_t next = 0; next < left_.size() && free_receivers > 0; ++next) {
      std::swap(left_[next], left_[next + random_() % (left_.size() - next)]);
      const AlpaWork& work = works_[left_[next]];
      const auto is_busy = [&](std::int32_t worker) { return busy_[At(worker)]; };
      if (std::ranges::any_of(work.receivers, is_busy)) continue;
      if (std::ranges::all_of(work.senders, is_busy)) continue;
      const std::int32_t sender = DrawSender(work);
      trial.tasks.push_back({left_[next], sender});
      const auto load = static_cast<double>(loads_[At(sender)]);
      const auto bytes = static_cast<double>(work.bytes);
      sum += bytes;
      squares += (load + bytes) * (load + bytes) - load * load;
      free_receivers -= static_cast<std::int64_t>(work.receivers.size());
      for (const std::int32_t receiver : work.receivers) busy_[At(receiver)] = true;
      if (!busy_[At(sender)] && awaiting_[At(sender)] > 0) --free_receivers;
      busy_[At(sender)] = true;
    }
    trial.load_variance = squares / senders_ - (sum / senders_) * (sum / senders_);
    return trial;
  }

  // Precondition: one is free.
  std::int32_t DrawSender(const AlpaWork& work) {
    std::int64_t largest = 0;
    for (const std::int32_t sender : work.senders) {
      if (!busy_[At(sender)]) largest = std::max(largest, loads_[At(sender)]);
    }
    std::uint64_t weights = 0;
    for (const std::int32_t sender : work.senders) weights += WeightOf(sender, largest);
    std::uint64_t drawn = random_() % weights;
    for (const std::int32_t sender : work.senders) {
      const std::uint64_t weight = WeightOf(sender, largest);
      if (drawn < weight) return sender;
      drawn -= weight;
    }
    return work.senders.back();
  }

  std::uint64_t WeightOf(std::int32_t sender, std::int64_t largest) const {
    return busy_[At(sender)] ? 0 : static_cast<std::uint64_t>(largest - loads_[At(sender)] + 1);
  }

  void Take(const Trial& trial) {
    std::vector<bool> taken(works_.size());
    for (const AlpaTask& task : trial.tasks) {
      const AlpaWork& work = works_[task.work];
      taken[task.work] = true;
      std::int64_t& load = loads_[At(task.sender)];
      const auto before = static_cast<double>(load);
      load += work.bytes;
      sum_ += static_cast<double>(work.bytes);
      squares_ += static_cast<double>(load) * static_cast<double>(load) - before * before;
      for (const std::int32_t receiver : work.receivers) {
        if (--awaiting_[At(receiver)] == 0) --receivers_;
      }
    }
    std::erase_if(left_, [&](std::size_t work) { return taken[work]; });
  }

  std::span<const AlpaWork> works_;
  std::vector<std::size_t> left_;       // works of no round yet
  std::vector<std::int64_t> loads_;     // bytes sent, per worker
  std::vector<std::int64_t> awaiting_;  // works left that a worker receives
  std::int64_t receivers_ = 0;          // workers that await one
  double senders_ = 0;                  // workers that can send anything
  double sum_ = 0;                      // of loads
  double squares_ = 0;                  // of loads squared
  std::vector<bool> busy_;              // in the trial
  std::mt19937_64 random_{0x616c7061};  // any seed, but always the same
};

}  // namespace

std::vector<std::vector<AlpaTask>> OrderAlpaRounds(std::span<const AlpaWork> works,
                                                   std::int32_t workers) {
  return AlpaOrder(works, workers).Run();
}

}  // namespace reshard
