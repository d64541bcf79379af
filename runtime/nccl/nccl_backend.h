// The backend that replays on GPUs: one CUDA graph of copy kernels and NCCL groups per rank.
//
//   communicator = Communicator::Make({id, rank, rank_count, channels});   // all ranks together
//   backend = NcclBackend::Make(part, communicator, options);
//   NcclBackend* nccl = backend.get();               // for what only this backend has
//   engine = Engine::Open(part, std::move(backend));
//   engine.Bind(source, destination);   // all ranks together: compares, connects, captures
//   engine.Replay(1);                   // one cudaGraphLaunch
//   cudaStreamWaitEvent(training, nccl->source_released());
//   engine.WaitFor(deadline);
//
// All calls come from threads whose current device is the rank's. A rebind or another plan is a new
// engine with a new backend on the same communicator, on all ranks together, after a refit that
// was installed everywhere; after a failure it is a new communicator, too.
//
// This header needs no CUDA header: a CUstream_st* is a cudaStream_t, a CUevent_st* a cudaEvent_t.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/placement.h"
#include "schedules/rank_part.h"

struct CUevent_st;
struct CUstream_st;

namespace reshard {

struct NcclOptions {
  // Where refits are launched, a stream of the caller; null: one of the backend's own. Work put
  // there before a refit is over before it begins, e.g. the optimizer's last step.
  CUstream_st* stream = nullptr;
  // Issues the refit anew each time instead of replaying a graph: slower, and anything goes in
  // `recompute`.
  bool eager = false;
  // Off: ranks may sit elsewhere than the plan believes. Right, but maybe slow.
  bool checks_placement = true;
  // Memory of the caller to be used for staging, at least as large as the plan wants, aligned to
  // 256 bytes; null: allocated.
  std::byte* staging = nullptr;
  std::int64_t staging_bytes = 0;
  // Puts work onto the stream that derives more from what was installed: what the compiler's
  // summary lists under "recompute after install".
  // Called while the stream is capturing, once in Bind and once in RecordSteps; in eager mode at
  // every refit.
  std::function<Result<void>(CUstream_st*)> recompute;
  // How long Bind, and in eager mode Replay, may wait for other ranks.
  std::chrono::nanoseconds prepare_deadline = std::chrono::seconds(60);
  // Where this rank is; nothing: read from the machine.
  std::optional<MachineFacts> machine;
};

class NcclBackend final : public Backend {
 public:
  // Fails if the communicator is stopped, or of another rank or number of ranks than the part.
  static Result<std::unique_ptr<NcclBackend>> Make(const RankPart& part,
                                                   std::shared_ptr<Communicator> communicator,
                                                   NcclOptions options);
  ~NcclBackend() override;

  // Refits after this are launched on `stream`.
  void UseStream(CUstream_st* stream);

  // Recorded in every refit when the last byte has left the source parameters: the trainer may go
  // on writing to them before the refit is over. Null before Prepare.
  CUevent_st* source_released() const;

  Result<std::byte*> AllocateStaging(std::int64_t bytes) override;
  Result<void> Prepare(LoweredRank lowered, std::vector<std::byte*> bases,
                       const std::string& job_digest) override;
  // Captures once more, with events around the steps.
  Result<void> RecordSteps() override;
  // Each rank's on its device's clock, put where the host launched the refit.
  std::vector<StepTime> StepTimes() const override;
  Result<void> Start(std::uint64_t version) override;
  Result<ReplayProgress> WaitFor(std::chrono::nanoseconds timeout) override;
  ReplayStatus Status() const override;
  StopResult Stop(std::chrono::nanoseconds grace) override;

 private:
  struct State;  // all that a replay touches; abandoned as a whole
  explicit NcclBackend(std::shared_ptr<State> state) : state_(std::move(state)) {}

  Result<void> Capture(std::chrono::steady_clock::time_point deadline);
  Result<void> PrepareState(LoweredRank lowered, std::vector<std::byte*> bases,
                            const std::string& job_digest);
  StopResult AbandonState();

  std::shared_ptr<State> state_;
};

}  // namespace reshard
