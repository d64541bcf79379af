#include "runtime/mpi/mpi_trial.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "runtime/mpi/mpi_backend.h"

namespace reshard {

Result<std::int64_t> MpiTrial::BytesNeeded(const Plan& plan, RankIndex rank) {
  JobRecords alone = plan.job;
  alone.ranks = {plan.job.ranks[static_cast<std::size_t>(rank)]};
  Result<std::int64_t> bytes = TrialBytes(alone);
  if (!bytes) return bytes;
  const std::optional<std::int64_t> sum =
      CheckedAdd(*bytes, StagingBytes(plan.schedules[static_cast<std::size_t>(rank)]));
  if (!sum) return InputError("plan", "its bytes do not fit 64 bits");
  return *sum;
}

MpiTrial::MpiTrial(const Plan& plan, const MpiWorld& world, std::chrono::nanoseconds deadline,
                   TrialMemory memory, Engine engine)
    : world_(world),
      deadline_(deadline),
      fragment_count_(plan.demand.fragments.size()),
      memory_(std::move(memory)),
      engine_(std::move(engine)),
      held_(HeldFragments(plan, world.rank())),
      needed_(NeededFragments(plan, world.rank())) {}

Result<MpiTrial> MpiTrial::Make(const Plan& plan, const MpiWorld& world,
                                std::chrono::nanoseconds deadline) {
  Result<TrialMemory> memory = TrialMemory::Make(plan.job, world.rank());
  if (!memory) return tl::unexpected(memory.error());
  Result<std::unique_ptr<Backend>> backend = MakeMpiBackend(world);
  if (!backend) return tl::unexpected(backend.error());
  const RankPart part = ExtractRankPart(plan, world.rank());
  Result<Engine> engine = Engine::Open(part, *std::move(backend));
  if (!engine) return tl::unexpected(engine.error());
  const Result<std::vector<std::byte*>> addresses =
      MatchBuffers(part, memory->SourceBuffers(), memory->DestinationBuffers());
  if (!addresses) return tl::unexpected(addresses.error());
  const Result<void> bound = engine->Bind(memory->SourceBuffers(), memory->DestinationBuffers());
  if (!bound) return tl::unexpected(bound.error());
  MpiTrial trial(plan, world, deadline, *std::move(memory), *std::move(engine));
  trial.bases_.assign(addresses->begin(), addresses->end());
  trial.source_parameters_ = part.source_parameters.size();
  return trial;
}

std::span<const std::byte* const> MpiTrial::SourceBases() const {
  return std::span(bases_).first(source_parameters_);
}

std::span<const std::byte* const> MpiTrial::DestinationBases() const {
  return std::span(bases_).subspan(source_parameters_);
}

void MpiTrial::Fill(std::uint64_t refit) {
  memory_.Fill(refit);
  held_digests_ = RunDigests(held_.table, SourceBases());
}

Result<double> MpiTrial::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  const auto start = std::chrono::steady_clock::now();
  Result<void> done = engine_.Replay(refit);
  if (done) done = engine_.WaitFor(deadline);
  if (!done) return tl::unexpected(done.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> MpiTrial::Check(std::uint64_t refit) const {
  std::vector<std::uint64_t> holders = HeldExtremes();
  Result<void> gathered = world_.MinimumOverRanks(holders, deadline_, "comparing content digests");
  if (!gathered) return gathered;
  Result<void> own = CheckDigests(holders);
  if (own) own = memory_.Check(refit);
  // All ranks end alike, or those that are right would wait for the others in MPI_Finalize.
  std::uint64_t wrong_rank[] = {static_cast<std::uint64_t>(own ? world_.size() : world_.rank())};
  const Result<void> agreed = world_.MinimumOverRanks(wrong_rank, deadline_, "checking content");
  if (!agreed || !own) return own ? agreed : own;
  if (wrong_rank[0] == static_cast<std::uint64_t>(world_.size())) return {};
  return RunError("rank " + std::to_string(world_.rank()),
                  "its content is right, that of rank " + std::to_string(wrong_rank[0]) + " is not",
                  "see the error of that rank");
}

std::vector<std::uint64_t> MpiTrial::HeldExtremes() const {
  const auto count = static_cast<std::size_t>(fragment_count_);
  std::vector<std::uint64_t> extremes(2 * count, ~std::uint64_t{0});
  for (std::size_t i = 0; i < held_digests_.size(); ++i) {
    const auto fragment = static_cast<std::size_t>(held_.fragments[i]);
    extremes[fragment] = std::min(extremes[fragment], held_digests_[i]);
    extremes[count + fragment] = std::min(extremes[count + fragment], ~held_digests_[i]);
  }
  return extremes;
}

Result<void> MpiTrial::CheckDigests(std::span<const std::uint64_t> holders) const {
  const std::vector<std::uint64_t> digests = RunDigests(needed_.table, DestinationBases());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto fragment = static_cast<std::size_t>(needed_.fragments[i]);
    const bool holders_agree =
        holders[fragment] == ~holders[static_cast<std::size_t>(fragment_count_) + fragment];
    if (holders_agree && digests[i] == holders[fragment]) continue;
    return RunError("rank " + std::to_string(world_.rank()),
                    "fragment " + std::to_string(fragment) +
                        (holders_agree ? " has another content digest than on its holders"
                                       : " has not the same content on all its holders"),
                    "verify the plan; if it passes, report this");
  }
  return {};
}

}  // namespace reshard
