// A checkpoint through a replay: its tensors laid out as the source side says, and what arrived as
// one safetensors file per rank of the destination side.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "runtime/trial_replay.h"
#include "runtime/weight_shards.h"
#include "schedules/plan.h"
#include "tools/weights_reader.h"

namespace reshard {

// Of the files written.
struct WrittenShards {
  std::string folder;
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

// Says before the work begins what would keep shards from being written to `folder`: it may be an
// empty directory or not be there yet, so that shards of another plan never mix with these.
Result<void> CheckShardFolder(const std::string& folder);

// A TrialReplay on a checkpoint's tensors in place of made-up values; the same in every refit.
class WeightsTrial {
 public:
  // Fails unless every tensor of the plan is in `reader`, as WeightsReader::Expect wants it.
  static Result<void> CheckTensors(const Plan& plan, const WeightsReader& reader);

  // `plan` has passed Verify() and outlives the trial; `reader` has passed CheckTensors.
  static Result<WeightsTrial> Make(const Plan& plan, WeightsReader reader, HostOptions options);
  static Result<WeightsTrial> Make(Plan&& plan, WeightsReader reader, HostOptions options) = delete;

  // As in TrialReplay. One tensor of the checkpoint is in memory at a time. What goes wrong in Fill
  // is what the next Replay returns.
  void Fill(std::uint64_t refit);
  Result<double> Replay(std::uint64_t refit, std::chrono::nanoseconds deadline);
  Result<void> Check(std::uint64_t refit) const;
  Result<void> RecordSteps() { return replay_.RecordSteps(); }
  std::vector<StepTime> StepTimes() const { return replay_.StepTimes(); }

  // `folder`/rank-00005.safetensors for every rank of the destination side: its parameters by name.
  // Bytes of them that no tensor fills are zero.
  Result<WrittenShards> Write(const std::string& folder) const;

 private:
  WeightsTrial(const Plan& plan, WeightsReader reader, TrialReplay replay)
      : plan_(&plan), reader_(std::move(reader)), replay_(std::move(replay)) {}

  // All elements of tensor number `tensor`, or of what it is computed from, as the source holds
  // them: in its dtype, and less one where it holds x - 1.
  Result<std::vector<std::byte>> ReadHeld(std::size_t tensor) const;

  const Plan* plan_;
  WeightsReader reader_;
  TrialReplay replay_;
  std::vector<WeightShards> shards_;  // of each rank, in the memory of replay_
  Result<void> filled_;
};

}  // namespace reshard
