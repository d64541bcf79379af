// Replay of one rank's part of a plan, any number of times.
//
//   Engine engine = Engine::Open(part, backend);   // *Result, error handling left out
//   engine.Bind(source, destination);              // once; a new engine where memory has moved
//   for (version = 1; ; ++version) {
//     engine.Replay(version);                      // returns at once
//     engine.WaitFor(deadline);                    // installed(version), or failed
//   }
//
// An engine belongs to one thread at a time; engines of different ranks are independent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/backend.h"
#include "runtime/binding.h"
#include "schedules/rank_part.h"

namespace reshard {

enum class EnginePhase {
  kIdle,                // nothing replayed yet
  kRunning,             // between Replay and the end of WaitFor
  kInstalled,           // the destination parameters hold `version`, whole
  kFailedMaybeMutated,  // a replay failed; destination parameters may be part old, part new
  kFailedAbandoned,     // as above, and the backend did not stop: it may still write
};

struct EngineState {
  EnginePhase phase = EnginePhase::kIdle;
  // The version replayed last; of kInstalled, the one the parameters hold.
  std::uint64_t version = 0;
  bool operator==(const EngineState&) const = default;
};

// "idle", "running", "installed(7)", "failed(maybe mutated)", "failed(abandoned)".
std::string ToString(const EngineState& state);

// Where a replay was that did not end in time.
struct DeadlineMiss {
  RoundIndex round = 0;
  std::vector<RankIndex> peers;  // it waited for, ascending
};

class Engine {
 public:
  // The backend is of the part's rank. Fails if the part is damaged.
  static Result<Engine> Open(RankPart part, std::unique_ptr<Backend> backend);

  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = delete;
  // Stops a replay that runs. A backend that was abandoned is not destroyed: it may still write to
  // its staging and to the parameters, which the caller must not free either.
  ~Engine();

  // Checks the buffers (MatchBuffers), allocates staging and prepares the backend. The buffers stay
  // the caller's and must stay in place. Allowed once.
  Result<void> Bind(std::span<const NamedBuffer> source, std::span<const NamedBuffer> destination);

  // Opt-in, after Bind and while no replay runs: from the next replay on, when each step ran can be
  // asked for. Costs two readings of a clock a step.
  Result<void> RecordSteps();
  // Of the last replay, once it is installed; see Backend::StepTimes.
  std::vector<StepTime> StepTimes() const {
    return state_.phase == EnginePhase::kInstalled ? backend_->StepTimes()
                                                   : std::vector<StepTime>();
  }

  // Begins to install `version`: the source parameters as they are now. All ranks replay the same
  // version. Until WaitFor has returned nobody may touch the bound memory.
  Result<void> Replay(std::uint64_t version);

  // Waits until the replay has ended, at most until `deadline` from now (BoundedWait). A fault of a
  // peer, or the deadline, is an error that names the round and the peers waited for; it comes no
  // later than one second after the deadline, whatever the backend does, and the engine replays no
  // more.
  Result<void> WaitFor(std::chrono::nanoseconds deadline);

  // Gives up the replay that runs, if one does: the engine has failed and replays no more.
  void Abort();

  EngineState state() const { return state_; }
  // After a missed deadline: where it was.
  const DeadlineMiss& deadline_miss() const { return deadline_miss_; }
  RankIndex rank() const { return part_.rank; }

 private:
  Engine(RankPart part, std::unique_ptr<Backend> backend)
      : part_(std::move(part)), backend_(std::move(backend)) {}

  Error Fail(Error error);
  std::string Place() const { return "rank " + std::to_string(part_.rank); }

  RankPart part_;
  std::unique_ptr<Backend> backend_;
  bool bound_ = false;
  EngineState state_;
  DeadlineMiss deadline_miss_;
};

}  // namespace reshard
