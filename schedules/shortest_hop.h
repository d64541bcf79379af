// The least part of a cluster's hop latencies that any message pays.
//
// A cluster's latencies are those of protocol Simple; NCCL sends its shortest messages by LL, whose
// hops take these parts of them (graph/tuning.cc, hardware latencies: NVLink 0.6 of 3.4 us, network
// 2.7 of 14 us). Lower bounds count no more, and the simulator's constants say no less: else a
// prediction could be below its bound.
#pragma once

namespace reshard {

inline constexpr double kShortestNvlinkHop = 0.17;
inline constexpr double kShortestNetworkHop = 0.19;

}  // namespace reshard
