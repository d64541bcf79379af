// Work of the host backend that may run now, and the order in which it is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "kernels/copy_table.h"
#include "schedules/plan.h"

namespace reshard {

// A pack or unpack step of a rank, or one matched pair of operations.
struct Work {
  Lane lane = Lane::kPack;
  RankIndex rank = 0;                // whose step it is; of a pair, the sender
  RankIndex peer = 0;                // of a pair, the receiver; else equal to rank
  const CopyTable* table = nullptr;  // of a step
  const CopyTable* conversions = nullptr;
  const std::byte* source = nullptr;  // of a pair
  std::byte* destination = nullptr;
  std::int64_t bytes = 0;

  bool Touches(RankIndex wanted) const { return rank == wanted || peer == wanted; }
};

class ReadyWork {
 public:
  // Without a seed work is taken in the order it became ready.
  explicit ReadyWork(std::optional<std::uint64_t> interleaving_seed);

  bool empty() const { return work_.empty(); }
  void Add(const Work& work) { work_.push_back(work); }
  Work Take();
  // Drops what touches memory of `rank`.
  void Drop(RankIndex rank);

 private:
  std::size_t DrawPosition();

  std::deque<Work> work_;
  bool shuffles_ = false;
  std::mt19937_64 random_;
  // Lanes of ranks have priorities that change now and then: one lane runs ahead of the others as
  // far as the waits allow, which uniform draws would hardly ever let happen (Burckhardt et al., "A
  // randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
  std::map<std::pair<RankIndex, Lane>, std::uint64_t> priorities_;
};

}  // namespace reshard
