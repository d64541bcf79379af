// What a simulation-only plan moves: flows without addresses.
//
// A planner that cannot keep promises 4 and 5 (bounded NCCL groups, bounded staging) or that is
// here to be compared only says how many bytes go from whom to whom, in which order and at what
// fixed costs, and no more. Such a plan can be simulated, described and drawn; it has no slots,
// columns or transfers, so that it can never be replayed.
//
//   A traffic is streams: each is one communicator, all run in parallel.
//   A stream is phases: one begins when the one before it has ended on every rank. A phase
//     1. pays its fixed costs,
//     2. packs,
//     3. exchanges: all flows of one NCCL group share the links,
//     4. unpacks, each part after the one before it has ended on every rank of the phase.
//
// Costs are counted, not timed: what a launch or a synchronisation takes is the simulator's to say
// (simulator/constants.h). All integers are 64 bit or indices; sizes are bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

// What one rank sends another in one phase.
struct TrafficFlow {
  RankIndex from = 0;
  RankIndex to = 0;
  std::int64_t bytes = 0;       // > 0, of one repeat
  std::int64_t operations = 1;  // > 0, of one repeat: NCCL sends that it stands for
  // Its place in a pipelined ring, chain or tree: hop h starts when hop h - 1 has delivered its
  // first chunk. 0: at once.
  std::int32_t hop = 0;
  bool operator==(const TrafficFlow&) const = default;
};

// What one rank copies in one phase, between its parameters and a buffer.
struct TrafficCopy {
  RankIndex rank = 0;
  std::int64_t packed_bytes = 0;    // >= 0, before the phase's flows
  std::int64_t unpacked_bytes = 0;  // >= 0, after them
  bool operator==(const TrafficCopy&) const = default;
};

struct TrafficPhase {
  std::int64_t repeats = 1;  // > 0: equal phases one after another
  // Of one repeat.
  std::int64_t launches = 1;  // kernels that the host launches one by one, outside a graph
  std::int64_t host_synchronizations = 0;  // the host waits for the GPU, then goes on
  std::int64_t barriers = 0;               // among all ranks of the phase
  // Its flows are NCCL sends and receives, on the channels of a peer (channel_hints.h). Else they
  // are parts of collectives or stores of a kernel, which use all channels.
  bool is_send_receive = true;
  // What a hop passes on at once; 0 where no flow has a hop above 0. A chunk of all bytes is store
  // and forward.
  std::int64_t chunk_bytes = 0;
  std::vector<TrafficFlow> flows;   // ascending by (from, to), no pair twice, from != to
  std::vector<TrafficCopy> copies;  // ascending by rank, no rank twice
  bool operator==(const TrafficPhase&) const = default;
};

struct TrafficStream {
  std::string name;  // "stage 2"
  std::vector<TrafficPhase> phases;
  // It begins when all streams of the turn before have ended; those of one turn run together. Turns
  // ascend from stream to stream, from 0 and without a gap.
  std::int32_t turn = 0;
  bool operator==(const TrafficStream&) const = default;
};

// Tensors that the method cannot express and that its traffic therefore leaves out.
struct Omission {
  TensorIndex tensor = 0;    // the first of them
  std::int64_t tensors = 1;  // how many
  std::string reason;        // "two sharded dims on the source"
  std::int64_t bytes = 0;    // of the demand: times the needers that do not hold them
  bool operator==(const Omission&) const = default;
};

struct Traffic {
  std::vector<TrafficStream> streams;
  std::vector<std::int64_t> staging_bytes;  // per rank: the most scratch it needs at a time
  // Per class: how many of its bytes arrive at each needer. All of them, where nothing is omitted.
  std::vector<std::int64_t> class_bytes;
  std::vector<Omission> omissions;
  bool operator==(const Traffic&) const = default;
};

// Of the demand, by all omissions together.
inline std::int64_t OmittedBytes(const Traffic& traffic) {
  std::int64_t bytes = 0;
  for (const Omission& omission : traffic.omissions) bytes += omission.bytes;
  return bytes;
}

}  // namespace reshard
