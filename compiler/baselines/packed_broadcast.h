// NeMo RL's packed broadcast: every rank of the source gathers every tensor (bridge_export.h), and
// the first one broadcasts it in buckets (double_buffer.h) to all ranks of both sides: they are of
// one communicator since pull request 1264 of October 2025, utils/packed_tensor.py and
// docs/design-docs/nccl-reshard-refit.md (model_update_group).
//
// The rings of collective_rings.h through all ranks, cut open at the root, are pipelined chains.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/baselines/bridge_export.h"
#include "compiler/baselines/double_buffer.h"
#include "compiler/baselines/expert_stacks.h"
#include "compiler/baselines/piece_flows.h"
#include "compiler/baselines/traffic_builder.h"

namespace reshard {

class PackedBroadcast {
 public:
  // Keeps references.
  PackedBroadcast(const Plan& plan, const WrittenSide& source);

  // Experts are to come stacked.
  void Add(const StackedTensors& stack);
  // Appends its streams, their turns after those that are there.
  void AppendTo(std::vector<TrafficStream>& streams, StagingMeter& staging) const;

 private:
  const Plan& plan_;
  BridgeExport gathers_;
  RankIndex root_ = kNoRank;
  std::vector<RankIndex> ranks_;      // of both sides, ascending
  std::int64_t bytes_ = 0;            // of all tensors, each once
  std::vector<std::int64_t> needed_;  // bytes by rank
};

}  // namespace reshard
