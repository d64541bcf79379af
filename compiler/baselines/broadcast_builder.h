// Whole tensors gathered to a root and broadcast from there to all ranks of the destination, in
// buckets that go through two buffers (double_buffer.h).
//
// The all-gather of a bucket goes in rings over the first replica of every shard and the root: the
// link into a rank carries all that this rank does not itself bring. The broadcast goes in the same
// rings cut open at the root: pipelined chains over the destination's ranks. Rings are as many as a
// domain has ranks (collective_rings.h); on their way out of the root's domain they pass its other
// source ranks, which are of the communicator, too. Buckets are equal ones, each a gather and a
// broadcast; the two of all buckets are repeated phases.
//
// Every collective of a gather is a turn of the host: one a tensor that the root lacks a part of,
// but that ranks which bring different experts bring one each to the same collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/baselines/double_buffer.h"
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
  // Appends the streams of all stages, their turns after those that are there.
  void AppendTo(std::vector<TrafficStream>& streams, StagingMeter& staging) const;

 private:
  // What a rank brings to the gather of the tensors of one name pattern.
  struct Contribution {
    std::int64_t bytes = 0;
    std::int64_t tensors = 0;
  };
  struct Gather {
    std::map<RankIndex, Contribution> brought;
    std::int64_t lacking = 0;  // tensors of which the root lacks a part
  };
  struct Stage {
    RankIndex root = kNoRank;
    std::int64_t bytes = 0;  // of its tensors, each once
    std::map<std::string, Gather> gathers;
  };

  Stage& StageOf(RankIndex rank);
  void FillGather(const Stage& stage, BufferedStage& phases, StagingMeter& staging) const;
  void FillBroadcast(std::size_t number, BufferedStage& phases, StagingMeter& staging) const;
  // The source ranks that share the root's domain, from the root on, cyclically; the root alone
  // where the domain has other ranks of the destination.
  std::vector<RankIndex> WaysOut(RankIndex root) const;

  const Plan& plan_;
  const WrittenSide& source_;
  std::vector<Stage> stages_;
  std::vector<RankIndex> destinations_;
  std::vector<std::vector<std::int64_t>> needed_;  // bytes by rank and stage
};

}  // namespace reshard
