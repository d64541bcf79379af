// How NCCL and copy kernels behave: the simulator's constants, each with its source in
// simulator/constants/default.json, which is built into the program and can be replaced by a file.
// What is hardware (rates, hop latencies) lives in the cluster, not here.
//
// What a round costs besides its bytes, and who pays it:
//   once per refit and rank   hostNodeUs, before its first group, if it has network peers;
//   once per round and rank   kernelLaunchUs + groupUs, before its first transfer may start
//                             (+ batchUs for each further batch of operations);
//   once per transfer         the hop latency of the cluster, after its last byte left: of a relay
//                             (PXN) both hops; of a short message only the part that LL leaves;
//   once per step of copies   kernelLaunchUs.
// A round over the network so costs 1.5 + 8.4 + 14 = 23.9 us on top of its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/error.h"

namespace reshard {

// What runs with PXN: the methods of other planners, as NCCL does by default; reshard's own plans
// choose their NICs themselves and want it off.
inline constexpr std::int64_t kPxnForOthers = 1;
inline constexpr std::int64_t kPxnForAll = 2;

struct Constants {
  double network_channel_gbps = 0;
  double nvlink_channel_share = 0;  // (0, 1], of the GPU's NVLink rate
  double network_step_kib = 0;
  double nvlink_step_kib = 0;
  double ll_kib = 0;  // per channel; 0: no message is that short
  double ll_nvlink_latency_share = 0;
  double ll_network_latency_share = 0;
  std::int64_t pxn = 0;  // kPxnForOthers, kPxnForAll, or off
  double host_node_us = 0;
  double group_us = 0;
  double kernel_launch_us = 0;
  std::int64_t channels = 0;                // of a communicator, for sends and receives
  std::int64_t operations_per_channel = 0;  // that progress together
  double batch_us = 0;
  double copy_hbm_share = 0;  // (0, 1]
  // Of simulation-only plans, which the host drives phase by phase (traffic_replay.h).
  double eager_launch_us = 0;
  double host_synchronization_us = 0;
  // Memory, which costs no time (connection_memory.h).
  double nvlink_connection_mib = 0;  // of one channel of one peer
  double network_pool_mib = 0;       // of a rank with network peers
  bool operator==(const Constants&) const = default;
};

// The constants built into the program.
Result<Constants> DefaultConstants();

// Reads text of the form of default.json; every constant must be there, with value, unit, source
// and date. `place` names the text in errors.
Result<Constants> ParseConstants(std::string_view text, const std::string& place);
Result<Constants> ReadConstants(const std::string& path);

// 32 hex digits over names and values; sources and formatting do not count.
std::string ConstantsDigest(const Constants& constants);

}  // namespace reshard
