// A plan on a machine, as the replay runs it: ranks with lanes, transfers as flows over resources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/flow_engine.h"
#include "simulator/flow_table.h"
#include "simulator/machine.h"
#include "simulator/message.h"
#include "simulator/workload.h"

namespace reshard {

using TransferIndex = std::int32_t;

struct ModelTransfer {
  RankIndex from = 0;
  RankIndex to = 0;
  Nanoseconds latency = 0;
  Nanoseconds ll_latency = 0;  // of messages that go by LL
  double channel_gbps = 0;     // of one channel
  SegmentRange bytes;          // by round
};

struct ModelRank {
  // By lane. A pack or unpack lane's segments are bytes copied; the exchange lane's are operations
  // (sends and receives), and one begins wherever the amount of any of them changes.
  SegmentRange lanes[kLaneCount];
  std::int64_t first_wait = 0;
  std::int32_t wait_count = 0;
  std::int64_t first_operation = 0;  // into ReplayModel::operations: its transfers, as they stand
  std::int32_t operation_count = 0;
  bool has_network = false;  // one of its transfers is with another domain
};

struct ReplayModel {
  std::vector<ModelTransfer> transfers;
  std::vector<ModelRank> ranks;
  std::vector<Segment> segments;
  std::vector<Wait> waits;
  std::vector<TransferIndex> operations;

  // Flow t is transfer t; then come two copies per rank, pack and unpack.
  FlowTable flows;
  std::vector<double> capacities;

  Nanoseconds launch = 0;  // of any step
  Nanoseconds group = 0;   // of an exchange step, beyond its launch
  Nanoseconds batch = 0;   // each further `operations_together`
  std::int64_t operations_together = 0;
  Nanoseconds host_node = 0;  // before it no rank with network transfers starts a group
  MessageRules messages;
  RoundIndex round_count = 0;  // rounds in which anything moves are below this
  // Part of its life by which a flow may end late, and of a period by which repetitions may differ:
  // 0 but for models of very many transfers. Late ends and differing periods then make times differ
  // by about three times this part at most.
  double tolerance = 0;
  // A shorter life counts as this long: what a round takes at least, in the mean over the rounds.
  Nanoseconds round_time = 0;

  FlowIndex CopyFlow(RankIndex rank, Lane lane) const {
    return static_cast<FlowIndex>(transfers.size()) + 2 * rank + (lane == Lane::kUnpack ? 1 : 0);
  }
  std::span<const Segment> Of(const SegmentRange& range) const {
    return std::span(segments).subspan(static_cast<std::size_t>(range.first),
                                       static_cast<std::size_t>(range.count));
  }
  std::span<const Wait> Waits(const ModelRank& rank) const {
    return std::span(waits).subspan(static_cast<std::size_t>(rank.first_wait),
                                    static_cast<std::size_t>(rank.wait_count));
  }
  std::span<const TransferIndex> Operations(const ModelRank& rank) const {
    return std::span(operations)
        .subspan(static_cast<std::size_t>(rank.first_operation),
                 static_cast<std::size_t>(rank.operation_count));
  }
};

// Fails where a rank sits on no GPU of `cluster` or a dead one, or ranks do not ascend by GPU.
Result<void> CheckRanks(const Plan& plan, const Cluster& cluster);

// Bytes that pass each resource over the whole replay.
Result<std::vector<double>> BytesPerResource(const ReplayModel& model);

// Fails where a rank sits on no GPU or a dead one, or bytes have no way over `machine`.
Result<ReplayModel> MakeReplayModel(const Plan& plan, const Cluster& cluster,
                                    const Machine& machine, const Constants& constants,
                                    Workload workload);

}  // namespace reshard
