// What happened in a replay over time, predicted or measured: plain values that the simulator and
// the runtime fill, and that pictures, traces and comparisons show.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

// One step of one lane of one rank. Times count from the start of the replay.
struct StepTime {
  RankIndex rank = 0;
  Lane lane = Lane::kPack;
  RoundIndex round = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool operator==(const StepTime&) const = default;
};

// Bytes of the transfers of one round, by domain of the cluster, padding between items included.
struct RoundTraffic {
  std::vector<std::int64_t> out;     // over NICs to other domains
  std::vector<std::int64_t> in;      // over NICs from other domains
  std::vector<std::int64_t> inside;  // over NVLink
};

// How busy a domain was: for each stretch of time, the bytes that passed over those that could
// have, 0 to 1. Only NICs and GPUs of ranks count.
struct DomainLoad {
  std::vector<double> nic_out;
  std::vector<double> nic_in;
  std::vector<double> nvlink;  // out of its GPUs; as much goes in
};

struct ReplayRecord {
  std::int64_t end_ns = 0;
  std::vector<StepTime> steps;       // in the order of their ends
  std::vector<RoundTraffic> rounds;  // by round
  std::int64_t stretch_ns = 1;       // stretch i begins at i * stretch_ns
  std::vector<DomainLoad> domains;   // by domain of the cluster, equally many stretches each
};

}  // namespace reshard
