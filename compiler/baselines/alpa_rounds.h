// Alpa's loadbalance_order: which works run at the same time, and who sends each.
//
// A round takes works whose senders and receivers are all different workers. Of 100 random
// permutations of what is left, each worked through from its front, taking a work if no receiver is
// busy and some sender is free, the round is the one that takes most works, and of those the one
// after which the senders' loads deviate least. A free sender is drawn with weight (largest load of
// the free ones - its load + 1). Random numbers are seeded alike, so that equal works give equal
// rounds. A permutation is drawn only until every receiver is busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

struct AlpaWork {
  std::vector<std::int32_t> senders;    // distinct workers, any of which can send it; not empty
  std::vector<std::int32_t> receivers;  // distinct workers, all of which get it; not empty
  std::int64_t bytes = 0;
};

struct AlpaTask {
  std::size_t work = 0;
  std::int32_t sender = 0;  // a worker
};

// Every work is in one round. Workers are 0 .. workers - 1.
std::vector<std::vector<AlpaTask>> OrderAlpaRounds(std::span<const AlpaWork> works,
                                                   std::int32_t workers);

}  // namespace reshard
