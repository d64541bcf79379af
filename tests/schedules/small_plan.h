// A plan small enough to be followed by hand, with every feature a plan has.
//
// Three tensors: "a" [8, 8] BF16, "b" [32] F32, "c" [4] BF16. Five ranks in two domains:
//   rank 0 (gpu 0, domain 0)  source only: a, b, c whole                            layout 0
//   rank 1 (gpu 1, domain 0)  source: b whole (layout 1); destination (layout 2)
//   rank 2 (gpu 4, domain 1)  destination: "fused" = columns 0..3 of a, then c; b   layout 2
//   ranks 3, 4 (gpus 5, 6)    destination: columns 4..7 of a inside a padded buffer layout 3
// Classes:
//   0: a[:, 0:4] and c  72 bytes   holders {0}     needers {1, 2}
//   1: a[:, 4:8]        64 bytes   holders {0}     needers {3, 4}
//   2: b               128 bytes   holders {0, 1}  needers {1, 2}
// Every column is a whole class in four chunks: 16 16 16 24, 16 each, 32 each. Flow:
//   class 0: 0 -> 2 in rounds 0..3, relayed 2 -> 1 out of the receive slot in rounds 1..4
//   class 1: 0 -> 3 in rounds 0..3, packed again there and sent 3 -> 4 in rounds 1..4
//   class 2: 0 -> 2 in rounds 0..3; rank 1 moves its own
#pragma once

#include "schedules/plan.h"

namespace reshard {

Plan SmallPlan();

// Rank 1 receives class 2 nowhere: its source and destination "b" share memory, so nothing moves.
Plan SmallInPlacePlan();

// The same job and demand moved by a simulation-only plan: classes 0 and 2 leave rank 0 over rank 2
// for rank 1, class 1 goes straight to ranks 3 and 4, twice half of it.
//   stream 0, phase 0: 0 -> 2 of 200 B, on to 1 of 72 B as hop 1
//   stream 1, phase 0, twice: 0 -> 3 and 0 -> 4 of 32 B, packed by 0
Plan SmallTrafficPlan();

}  // namespace reshard
