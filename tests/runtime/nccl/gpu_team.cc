#include "tests/runtime/nccl/gpu_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "schedules/rank_part.h"
#include "tests/runtime/altered_backend.h"

namespace reshard {

MachineFacts PlannedMachine(const JobRecords& job, RankIndex rank) {
  const Rank& record = job.ranks[static_cast<std::size_t>(rank)];
  MachineFacts facts;
  facts.host = "host " + std::to_string(record.node);
  facts.gpu[0] = 1;
  facts.gpu[1] = static_cast<std::uint8_t>(rank);
  facts.fabric_cluster[0] = 1;
  facts.fabric_clique = static_cast<std::uint32_t>(record.domain);
  return facts;
}

GpuTeam::GpuTeam(Plan plan, GpuTeamOptions options)
    : plan_(std::make_shared<Plan>(std::move(plan))), options_(std::move(options)) {
  for (std::size_t r = 0; r < plan_->job.ranks.size(); ++r) {
    const auto rank = static_cast<RankIndex>(r);
    if (std::count(options_.missing.begin(), options_.missing.end(), rank) > 0) continue;
    Member& member = members_[rank];
    if (const auto given = options_.mirrors.find(rank); given != options_.mirrors.end()) {
      member.mirror = given->second;
      continue;
    }
    // The mirror refers to the memory, which refers to the plan: all go together.
    struct Content {
      std::shared_ptr<Plan> plan;
      TrialMemory memory;
      std::optional<DeviceMirror> mirror;
    };
    auto content = std::make_shared<Content>(
        Content{plan_, *TrialMemory::Make(plan_->job, rank), std::nullopt});
    content->mirror = *DeviceMirror::Make(content->memory, "rank " + std::to_string(rank));
    member.mirror = std::shared_ptr<DeviceMirror>(content, &*content->mirror);
  }
}

GpuTeam::~GpuTeam() {
  for (auto& [rank, member] : members_) {
    if (member.engine == nullptr) continue;
    // Ends what runs, to know whether it could be ended.
    if (member.engine->state().phase == EnginePhase::kRunning) {
      static_cast<void>(member.engine->WaitFor(std::chrono::seconds(0)));
    }
    const bool is_abandoned = member.engine->state().phase == EnginePhase::kFailedAbandoned;
    member.engine.reset();
    if (!is_abandoned) continue;
    // The engine has let go of its backend without freeing it. What the backend keeps lives on, and
    // so must the parameters.
    delete member.backend;
    static auto* const abandoned = new std::vector<std::shared_ptr<DeviceMirror>>;
    abandoned->push_back(member.mirror);
  }
}

template <typename Function>
std::map<RankIndex, Error> GpuTeam::OnAll(const Function& function) {
  std::map<RankIndex, Error> failures;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (const RankIndex rank : ranks()) {
    threads.emplace_back([&, rank] {
      const std::optional<Error> failure = function(rank);
      const std::lock_guard lock(mutex);
      if (failure) failures.emplace(rank, *failure);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

std::optional<Error> GpuTeam::PrepareMember(RankIndex rank, const UniqueId& id) {
  if (const auto given = options_.communicators.find(rank); given != options_.communicators.end()) {
    members_.at(rank).communicator = given->second;
    return BindMember(rank);
  }
  CommunicatorOptions options;
  options.id = id;
  options.rank = rank;
  options.rank_count = static_cast<RankIndex>(plan_->job.ranks.size());
  options.channels = plan_->channels;
  options.deadline = options_.nccl.prepare_deadline;
  Result<std::shared_ptr<Communicator>> communicator = Communicator::Make(options);
  if (!communicator) return communicator.error();
  if (options_.on_communicator) options_.on_communicator(**communicator);
  members_.at(rank).communicator = *std::move(communicator);
  return BindMember(rank);
}

std::optional<Error> GpuTeam::BindMember(RankIndex rank) {
  Member& member = members_.at(rank);
  RankPart part = ExtractRankPart(*plan_, rank);
  if (const auto other = options_.other_part.find(rank); other != options_.other_part.end()) {
    other->second(part);
  }
  NcclOptions options = options_.nccl;
  options.machine = PlannedMachine(plan_->job, rank);
  if (const auto other = options_.other_options.find(rank); other != options_.other_options.end()) {
    other->second(options);
  }
  Result<std::unique_ptr<NcclBackend>> backend =
      NcclBackend::Make(part, member.communicator, std::move(options));
  if (!backend) return backend.error();
  member.backend = backend->get();
  std::unique_ptr<Backend> used = *std::move(backend);
  if (const auto work = options_.other_work.find(rank); work != options_.other_work.end()) {
    used = std::make_unique<AlteredBackend>(std::move(used), work->second);
  }
  Result<Engine> engine = Engine::Open(std::move(part), std::move(used));
  if (!engine) return engine.error();
  member.engine = std::make_unique<Engine>(*std::move(engine));
  const Result<void> bound =
      member.engine->Bind(member.mirror->SourceBuffers(), member.mirror->DestinationBuffers());
  if (!bound) return bound.error();
  return std::nullopt;
}

std::map<RankIndex, Error> GpuTeam::Prepare() {
  const UniqueId id = *MakeUniqueId();
  return OnAll([&](RankIndex rank) { return PrepareMember(rank, id); });
}

void GpuTeam::PrepareAll() {
  for (const auto& [rank, error] : Prepare()) ADD_FAILURE() << rank << ": " << ToString(error);
}

std::map<RankIndex, Error> GpuTeam::Rebind() {
  for (auto& [rank, member] : members_) member.engine.reset();
  return OnAll([&](RankIndex rank) { return BindMember(rank); });
}

void GpuTeam::Fill(std::uint64_t refit) {
  for (auto& [rank, member] : members_) {
    const Result<void> filled = member.mirror->Fill(refit);
    if (!filled) ADD_FAILURE() << ToString(filled.error());
  }
}

void GpuTeam::Start(std::uint64_t version) {
  const auto failures = OnAll([&](RankIndex rank) -> std::optional<Error> {
    const Result<void> started = members_.at(rank).engine->Replay(version);
    if (!started) return started.error();
    return std::nullopt;
  });
  for (const auto& [rank, error] : failures) ADD_FAILURE() << ToString(error);
}

std::map<RankIndex, std::optional<Error>> GpuTeam::WaitFor(std::chrono::nanoseconds deadline,
                                                           std::vector<RankIndex> waiting) {
  if (waiting.empty()) waiting = ranks();
  std::map<RankIndex, std::optional<Error>> results;
  std::mutex mutex;
  std::vector<std::thread> threads;
  longest_wait_ = {};
  for (const RankIndex rank : waiting) {
    threads.emplace_back([&, rank] {
      const auto start = std::chrono::steady_clock::now();
      const Result<void> ended = members_.at(rank).engine->WaitFor(deadline);
      const std::lock_guard lock(mutex);
      longest_wait_ = std::max<std::chrono::nanoseconds>(longest_wait_,
                                                         std::chrono::steady_clock::now() - start);
      results[rank] = ended ? std::nullopt : std::optional(ended.error());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void GpuTeam::Check(std::uint64_t refit) {
  for (auto& [rank, member] : members_) {
    const Result<void> right = member.mirror->Check(refit);
    if (!right) ADD_FAILURE() << ToString(right.error());
  }
}

void GpuTeam::Refit(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  Fill(refit);
  Start(refit);
  for (const auto& [rank, error] : WaitFor(deadline)) {
    if (error) ADD_FAILURE() << ToString(*error);
  }
  Check(refit);
}

std::vector<RankIndex> GpuTeam::ranks() const {
  std::vector<RankIndex> ranks;
  for (const auto& [rank, member] : members_) ranks.push_back(rank);
  return ranks;
}

}  // namespace reshard
