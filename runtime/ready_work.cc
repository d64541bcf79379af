#include "runtime/ready_work.h"

#include <algorithm>

namespace reshard {

ReadyWork::ReadyWork(std::optional<std::uint64_t> interleaving_seed)
    : shuffles_(interleaving_seed.has_value()), random_(interleaving_seed.value_or(0)) {}

Work ReadyWork::Take() {
  const auto position = work_.begin() + static_cast<std::ptrdiff_t>(DrawPosition());
  const Work taken = *position;
  work_.erase(position);
  return taken;
}

void ReadyWork::Drop(RankIndex rank) {
  std::erase_if(work_, [rank](const Work& work) { return work.Touches(rank); });
}

std::size_t ReadyWork::DrawPosition() {
  if (!shuffles_) return 0;
  constexpr std::uint64_t kRedrawOneIn = 32;
  constexpr std::uint64_t kUniformOneIn = 4;
  if (random_() % kRedrawOneIn == 0) priorities_.clear();
  if (random_() % kUniformOneIn == 0) return random_() % work_.size();
  const auto priority = [this](const Work& work) {
    const auto [entry, is_new] = priorities_.try_emplace({work.rank, work.lane}, 0);
    if (is_new) entry->second = random_();
    return entry->second;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < work_.size(); ++i) {
    if (priority(work_[i]) > priority(work_[best])) best = i;
  }
  return best;
}

}  // namespace reshard
