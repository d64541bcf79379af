#include "runtime/mpi/mpi_trial.h"

#include <string>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "runtime/conversion_lowering.h"
#include "runtime/mpi/mpi_backend.h"
#include "runtime/step_gathering.h"

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
      memory_(std::move(memory)),
      engine_(std::move(engine)),
      content_(plan, world.rank()) {}

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
  trial.bases_ = *addresses;
  trial.source_parameters_ = part.source_parameters.size();
  trial.computed_.source_parameters = part.source_parameters;
  trial.computed_.source_conversions = part.source_conversions;
  return trial;
}

std::span<const std::byte* const> MpiTrial::DestinationBases() const {
  return std::span<const std::byte* const>(bases_.data(), bases_.size())
      .subspan(source_parameters_);
}

void MpiTrial::Fill(std::uint64_t refit) {
  memory_.Fill(refit);
  held_digests_ =
      DigestSources(content_.held(), computed_, std::span(bases_).first(source_parameters_));
}

Result<double> MpiTrial::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  Result<void> done;
  std::uint64_t nothing[] = {0};
  if (records_steps_) done = Minimum(nothing, "meeting before the replay");
  zero_ = std::chrono::steady_clock::now();
  if (done) done = engine_.Replay(refit);
  if (done) done = engine_.WaitFor(deadline);
  if (!done) return tl::unexpected(done.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - zero_).count();
}

Result<void> MpiTrial::RecordSteps() {
  records_steps_ = true;
  return engine_.RecordSteps();
}

Result<std::vector<StepTime>> MpiTrial::StepTimes() const {
  const auto zero = std::chrono::duration_cast<std::chrono::nanoseconds>(zero_.time_since_epoch());
  return GatherSteps(engine_.StepTimes(), zero.count(), world_.rank(), world_.size(),
                     [this](std::span<std::uint64_t> values, const std::string& what) {
                       return Minimum(values, what);
                     });
}

Result<void> MpiTrial::Check(std::uint64_t refit) const {
  return content_.Run(held_digests_, RunDigests(content_.needed(), DestinationBases()),
                      memory_.Check(refit),
                      [this](std::span<std::uint64_t> values, const std::string& what) {
                        return Minimum(values, what);
                      });
}

}  // namespace reshard
