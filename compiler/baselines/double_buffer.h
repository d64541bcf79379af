// Buckets of whole tensors that are gathered and broadcast through two buffers.
//
// While a bucket is broadcast, the next one is gathered: vLLM's weight_transfer/packed_tensor.py
// (1 GiB, 2 buffers) and NeMo RL's utils/packed_tensor.py, where this took DeepSeek-V3 from 34 to
// 14 s (its pull request 1379 of October 2025). So the first gather goes alone, then all others
// beside all broadcasts but the last, then that one. The host waits for the bucket before the last
// one, not for the last: a broadcast is queued behind the one before it, so that a stage's chain
// fills once and a turn of the host is not waited for at each bucket.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/traffic.h"

namespace reshard {

// Buckets of at most this; both files' default is 1 GiB, or 2 % of the GPU's memory, which is near.
inline constexpr std::int64_t kBucketBytes = std::int64_t{1} << 30;

std::int64_t BucketsOf(std::int64_t bytes);

// What a rank buffers of `bytes` that pass through its two buffers.
std::int64_t BufferedBytes(std::int64_t bytes);

// Equal buckets that follow each other, from one root.
struct BufferedStage {
  std::int64_t buckets = 0;
  // Of the gathers of all buckets.
  std::int64_t host_turns = 0;
  std::int64_t collectives = 0;
  std::vector<TrafficPhase> gathers;  // of one bucket; none, or without flows, if the root has all
  TrafficPhase broadcast;             // of one bucket
};

// Appends the streams of `stages`, one stage after another, their turns after those that are there.
void AppendDoubleBuffered(const std::vector<BufferedStage>& stages,
                          std::vector<TrafficStream>& streams);

}  // namespace reshard
