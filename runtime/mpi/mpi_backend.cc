#include "runtime/mpi/mpi_backend.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "runtime/lane_progress.h"
#include "runtime/mpi/mpi_operations.h"
#include "runtime/rank_list.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::align_val_t kStagingAlignment{64};
// Ranks prepare within seconds of each other, or one of them is gone.
constexpr std::chrono::seconds kPrepareDeadline{60};
// Of the messages of the commit; rounds have the others, in turn. MPI promises tags up to 32767.
constexpr int kCommitTag = 0;
constexpr int kRoundTags = 32767;

struct StagingDeleter {
  void operator()(std::byte* data) const { ::operator delete(data, kStagingAlignment); }
};

class MpiBackend final : public Backend {
 public:
  MpiBackend(const MpiWorld& world, MPI_Comm communicator)
      : world_(world),
        communicator_(communicator),
        place_("rank " + std::to_string(world.rank())),
        operations_(communicator, place_) {}

  Result<std::byte*> AllocateStaging(std::int64_t bytes) override {
    staging_.reset(static_cast<std::byte*>(
        ::operator new(static_cast<std::size_t>(bytes), kStagingAlignment, std::nothrow)));
    if (staging_ == nullptr) {
      return RunError(place_, "no memory for " + std::to_string(bytes) + " bytes of staging",
                      "lower options.stagingMiB and compile again");
    }
    return staging_.get();
  }

  Result<void> Prepare(LoweredRank lowered, std::vector<std::byte*> bases,
                       const std::string& job_digest) override {
    if (lowered.rank_count != world_.size()) {
      return InputError(place_,
                        "its plan has " + std::to_string(lowered.rank_count) +
                            " ranks, MPI started " + std::to_string(world_.size()),
                        "start one process for each rank");
    }
    // Equal on all ranks if and only if the minimum of it and of its complement say the same.
    std::vector<std::uint64_t> extremes;
    for (const char character : job_digest) {
      const auto code = static_cast<std::uint64_t>(static_cast<unsigned char>(character));
      extremes.insert(extremes.end(), {code, ~code});
    }
    Result<void> agreed = world_.MinimumOverRanks(extremes, kPrepareDeadline, "preparing");
    if (!agreed) return agreed;
    for (std::size_t i = 0; i < extremes.size(); i += 2) {
      if (extremes[i] != ~extremes[i + 1]) {
        return InputError(place_, "its plan is of job " + job_digest + ", not every rank's is",
                          "load the same plan on every rank");
      }
    }
    lowered_ = std::move(lowered);
    bases_ = std::move(bases);
    return {};
  }

  Result<void> RecordSteps() override {
    records_steps_ = true;
    return {};
  }
  std::vector<StepTime> StepTimes() const override { return steps_; }

  Result<void> Start(std::uint64_t version) override {
    version_ = version;
    steps_.clear();
    progress_ = LaneProgress(lowered_.waits, static_cast<RoundIndex>(lowered_.rounds.size()));
    position_ = Position::kRounds;
    return {};
  }

  Result<ReplayProgress> WaitFor(std::chrono::nanoseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (position_ != Position::kInstalled) {
      const Result<bool> moved = Advance();
      if (!moved) return tl::unexpected(moved.error());
      if (*moved) continue;
      if (std::chrono::steady_clock::now() >= deadline) return ReplayProgress::kRunning;
      std::this_thread::yield();
    }
    return ReplayProgress::kDone;
  }

  ReplayStatus Status() const override {
    ReplayStatus status;
    status.round = progress_.CurrentStep(Lane::kExchange);
    status.peers = operations_.Peers();
    status.waiting_for = status.peers.empty() ? "itself" : RankList(status.peers);
    if (position_ != Position::kRounds) status.waiting_for += " in the commit";
    return status;
  }

  StopResult Stop(std::chrono::nanoseconds grace) override {
    return operations_.Stop(grace) ? StopResult::kStopped : StopResult::kAbandoned;
  }

 private:
  enum class Position { kRounds, kCommitUp, kCommitSend, kCommitDown, kInstalled };

  // Does what can be done now without waiting; true if anything was.
  Result<bool> Advance() {
    if (position_ != Position::kRounds) return AdvanceCommit();
    Result<bool> moved = AdvanceExchange();
    if (!moved) return moved;
    for (const Lane lane : {Lane::kPack, Lane::kUnpack}) {
      if (!progress_.CanBegin(lane)) continue;
      const RoundIndex step = progress_.Begin(lane);
      const LoweredRound& round = Round(step);
      const CopyTable& table = lane == Lane::kPack ? round.pack : round.unpack;
      const CopyTable& conversions =
          lane == Lane::kPack ? round.converted_pack : round.converted_unpack;
      const Clock::time_point start = Clock::now();
      RunCopies(table, bases_);
      RunConversions(conversions, lowered_.converted, bases_);
      if (!table.empty() || !conversions.empty()) RecordStep(lane, step, start);
      progress_.End(lane);
      *moved = true;
    }
    if (progress_.IsDone()) {
      const Result<void> begun = BeginCommit();
      if (!begun) return tl::unexpected(begun.error());
      *moved = true;
    }
    return moved;
  }

  Result<bool> AdvanceExchange() {
    if (progress_.IsRunning(Lane::kExchange)) {
      const Result<bool> moved = operations_.Progress();
      if (moved && operations_.AllEnded()) {
        RecordStep(Lane::kExchange, progress_.CurrentStep(Lane::kExchange), exchange_start_);
        progress_.End(Lane::kExchange);
      }
      return moved;
    }
    if (!progress_.CanBegin(Lane::kExchange)) return false;
    const RoundIndex step = progress_.Begin(Lane::kExchange);
    exchange_start_ = Clock::now();
    if (const Result<void> posted = Post(step); !posted) return tl::unexpected(posted.error());
    if (operations_.AllEnded()) progress_.End(Lane::kExchange);
    return true;
  }

  Result<void> Post(RoundIndex step) {
    const LoweredRound& round = Round(step);
    const int tag = 1 + step % kRoundTags;
    std::byte* const staging = bases_[kStagingBase];
    for (const ExchangeOperation& receive : round.receives) {
      Result<void> posted =
          operations_.Receive(receive.peer, staging + receive.offset, receive.bytes, tag);
      if (!posted) return posted;
    }
    for (const ExchangeOperation& send : round.sends) {
      Result<void> posted = operations_.Send(send.peer, staging + send.offset, send.bytes, tag);
      if (!posted) return posted;
    }
    return {};
  }

  void RecordStep(Lane lane, RoundIndex step, Clock::time_point start) {
    if (!records_steps_) return;
    const auto nanoseconds = [](Clock::time_point time) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
    };
    steps_.push_back({world_.rank(), lane, step, nanoseconds(start), nanoseconds(Clock::now())});
  }

  const LoweredRound& Round(RoundIndex step) const {
    return lowered_.rounds[static_cast<std::size_t>(step)];
  }

  // ---- Commit: a binary tree over the ranks, rank 0 at the top ----------------------------------

  struct Token {
    std::uint64_t version = 0;
  };

  std::vector<RankIndex> Children() const {
    std::vector<RankIndex> children;
    for (const std::int64_t child :
         {2 * std::int64_t{world_.rank()} + 1, 2 * std::int64_t{world_.rank()} + 2}) {
      if (child < world_.size()) children.push_back(static_cast<RankIndex>(child));
    }
    return children;
  }
  RankIndex Parent() const { return (world_.rank() - 1) / 2; }
  bool IsTop() const { return world_.rank() == 0; }

  // Tokens live here while MPI uses them.
  Result<void> SendToken(RankIndex peer) {
    own_token_.version = version_;
    return operations_.Send(peer, reinterpret_cast<const std::byte*>(&own_token_), sizeof(Token),
                            kCommitTag);
  }
  Result<void> ReceiveToken(RankIndex peer, Token& token) {
    return operations_.Receive(peer, reinterpret_cast<std::byte*>(&token), sizeof(Token),
                               kCommitTag);
  }

  Result<void> BeginCommit() {
    position_ = Position::kCommitUp;
    const std::vector<RankIndex> children = Children();
    for (std::size_t i = 0; i < children.size(); ++i) {
      Result<void> posted = ReceiveToken(children[i], child_tokens_[i]);
      if (!posted) return posted;
    }
    return {};
  }

  Result<bool> AdvanceCommit() {
    if (!operations_.AllEnded()) {
      const Result<bool> moved = operations_.Progress();
      if (!moved || !operations_.AllEnded()) return moved;
    }
    const std::vector<RankIndex> children = Children();
    Result<void> done;
    switch (position_) {
      case Position::kCommitUp:  // every child has said that all below it are done
        for (std::size_t i = 0; i < children.size() && done; ++i) {
          done = CheckVersion(children[i], child_tokens_[i]);
        }
        position_ = Position::kCommitSend;
        if (done && !IsTop()) done = SendToken(Parent());
        if (done && !IsTop()) done = ReceiveToken(Parent(), parent_token_);
        break;
      case Position::kCommitSend:  // all ranks are done
        if (!IsTop()) done = CheckVersion(Parent(), parent_token_);
        position_ = Position::kCommitDown;
        for (std::size_t i = 0; i < children.size() && done; ++i) done = SendToken(children[i]);
        break;
      default:
        position_ = Position::kInstalled;
    }
    if (!done) return tl::unexpected(done.error());
    return true;
  }

  Result<void> CheckVersion(RankIndex peer, const Token& token) const {
    if (token.version == version_) return {};
    return RunError(place_,
                    "rank " + std::to_string(peer) + " commits version " +
                        std::to_string(token.version) + ", this rank " + std::to_string(version_),
                    "replay the same version on every rank");
  }

  MpiWorld world_;
  MPI_Comm communicator_;  // of this backend alone; MPI frees it when it ends
  std::string place_;
  std::unique_ptr<std::byte, StagingDeleter> staging_;
  LoweredRank lowered_;
  std::vector<std::byte*> bases_;
  std::uint64_t version_ = 0;
  Position position_ = Position::kInstalled;
  LaneProgress progress_;
  bool records_steps_ = false;
  Clock::time_point exchange_start_;  // of the step that runs
  std::vector<StepTime> steps_;       // of this replay
  Token own_token_;
  Token parent_token_;
  std::array<Token, 2> child_tokens_ = {};
  MpiOperations operations_;
};

}  // namespace

Result<std::unique_ptr<Backend>> MakeMpiBackend(const MpiWorld& world) {
  const std::string place = "rank " + std::to_string(world.rank());
  const auto end = std::chrono::steady_clock::now() + kPrepareDeadline;
  auto* const communicator = new MPI_Comm(MPI_COMM_NULL);  // MPI may write to it after the deadline
  MPI_Request request = MPI_REQUEST_NULL;
  // NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): after the deadline it is abandoned.
  int status = MPI_Comm_idup(MPI_COMM_WORLD, communicator, &request);
  for (int is_done = 0; status == MPI_SUCCESS && is_done == 0;) {
    status = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0 && std::chrono::steady_clock::now() >= end) {
      return RunError(place, "not all ranks took part in preparing", "start all ranks again");
    }
    std::this_thread::yield();
  }
  if (status != MPI_SUCCESS) return MpiError(place, "MPI_Comm_idup", status);
  // NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)
  MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
  return std::make_unique<MpiBackend>(world, *std::unique_ptr<MPI_Comm>(communicator));
}

}  // namespace reshard
