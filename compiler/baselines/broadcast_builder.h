// Whole tensors gathered to a root and broadcast from there to all ranks of the destination, in
// buckets of at most 1 GiB with a host synchronisation after each.
//
// The all-gather of a bucket is a ring over the first replica of every shard and the root: the link
// into a rank carries all that this rank does not itself bring. The broadcast is NCCL's ring cut
// open at the root: a pipelined chain over the destination's ranks in their order. Buckets are
// equal ones, each a gather and a broadcast; the two of all buckets are repeated phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/tensor_placements.h"
#include "compiler/baselines/traffic_builder.h"
#include "compiler/baselines/written_job.h"

namespace reshard {

class BroadcastBuilder {
 public:
  // Stages of `source` follow each other, each with its first rank as its root. Keeps references.
  BroadcastBuilder(const Plan& plan, const WrittenSide& source);

  void Add(const PlacedTensors& placed);
  // Appends the phases of all stages.
  void AppendTo(TrafficStream& stream, StagingMeter& staging) const;

 private:
  // One gather: what each rank brings to it of the tensors of one name pattern.
  using Contributions = std::map<RankIndex, std::int64_t>;
  struct Stage {
    RankIndex root = kNoRank;
    std::int64_t bytes = 0;  // of its tensors, each once
    std::map<std::string, Contributions> gathers;
  };

  Stage& StageOf(RankIndex rank);
  static void AppendGather(const Stage& stage, TrafficStream& stream, StagingMeter& staging);
  void AppendBroadcast(std::size_t number, TrafficStream& stream, StagingMeter& staging) const;

  const WrittenSide& source_;
  std::vector<Stage> stages_;
  std::vector<RankIndex> destinations_;
  std::vector<std::vector<std::int64_t>> needed_;  // bytes by rank and stage
};

}  // namespace reshard
