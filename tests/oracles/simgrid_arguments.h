// How both oracles configure SimGrid.
#pragma once

namespace reshard {

// Without these SimGrid's network models TCP: round trips, acknowledgements, slow start. With them
// and no latencies it shares max-min fairly, and nothing else.
inline constexpr const char* kSimGridArguments[] = {"oracle",
                                                    "--cfg=network/model:CM02",
                                                    "--cfg=network/TCP-gamma:0",
                                                    "--cfg=network/crosstraffic:0",
                                                    "--cfg=network/weight-S:0",
                                                    "--cfg=contexts/stack-size:64",
                                                    "--log=root.thresh:critical"};

}  // namespace reshard
