#include "compiler/baselines/double_buffer.h"

#include <algorithm>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// The gathers of the first bucket, or of all others.
void AppendGathers(const BufferedStage& stage, bool are_first, std::int64_t buckets,
                   TrafficStream& stream) {
  if (buckets == 0 || stage.collectives == 0) return;
  const auto part = [&](std::int64_t all) {
    if (buckets == stage.buckets) return all;
    const std::int64_t of_first = CeilDivide(all, stage.buckets);
    return are_first ? of_first : all - of_first;
  };
  TrafficPhase& turns = stream.phases.emplace_back();
  turns.launches = part(stage.collectives);
  turns.host_synchronizations = part(stage.host_turns);
  for (const TrafficPhase& gather : stage.gathers) {
    if (gather.flows.empty()) continue;
    stream.phases.push_back(gather);
    stream.phases.back().repeats = buckets;
  }
}

// The broadcasts of some buckets, queued behind each other.
void AppendBroadcasts(const BufferedStage& stage, std::int64_t buckets, TrafficStream& stream) {
  if (buckets == 0) return;
  TrafficPhase& phase = stream.phases.emplace_back(stage.broadcast);
  phase.launches = buckets;
  phase.host_synchronizations = 1;
  for (TrafficFlow& flow : phase.flows) {
    flow.bytes *= buckets;
    flow.operations *= buckets;
  }
  for (TrafficCopy& copy : phase.copies) {
    copy.packed_bytes *= buckets;
    copy.unpacked_bytes *= buckets;
  }
}

// Appends those of `together` that have phases, as one turn.
void AppendTurn(std::vector<TrafficStream> together, std::vector<TrafficStream>& streams) {
  const std::int32_t turn = streams.empty() ? 0 : streams.back().turn + 1;
  for (TrafficStream& stream : together) {
    if (stream.phases.empty()) continue;
    stream.turn = turn;
    streams.push_back(std::move(stream));
  }
}

}  // namespace

std::int64_t BucketsOf(std::int64_t bytes) { return CeilDivide(bytes, kBucketBytes); }

std::int64_t BufferedBytes(std::int64_t bytes) { return std::min(2 * kBucketBytes, bytes); }

void AppendDoubleBuffered(const std::vector<BufferedStage>& stages,
                          std::vector<TrafficStream>& streams) {
  const bool gathers_any =
      std::ranges::any_of(stages, [](const BufferedStage& stage) { return stage.collectives > 0; });
  std::vector<TrafficStream> first = {{"first gather", {}}};
  std::vector<TrafficStream> middle = {{"gathers", {}}, {"broadcasts", {}}};
  std::vector<TrafficStream> last = {{"last broadcast", {}}};
  for (const BufferedStage& stage : stages) {
    const std::int64_t before = &stage == &stages.front() && stage.collectives > 0 ? 1 : 0;
    AppendGathers(stage, /*are_first=*/true, before, first[0]);
    AppendGathers(stage, /*are_first=*/false, stage.buckets - before, middle[0]);
    const std::int64_t after = &stage == &stages.back() && gathers_any ? 1 : 0;
    AppendBroadcasts(stage, stage.buckets - after, middle[1]);
    AppendBroadcasts(stage, after, last[0]);
  }
  AppendTurn(std::move(first), streams);
  AppendTurn(std::move(middle), streams);
  AppendTurn(std::move(last), streams);
}

}  // namespace reshard
