// All ranks of a plan on the doubles: engines on NCCL backends, made together, played by one
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/nccl/device_mirror.h"
#include "runtime/nccl/nccl_backend.h"
#include "schedules/plan.h"

namespace reshard {

struct GpuTeamOptions {
  NcclOptions nccl;
  std::vector<RankIndex> missing;  // never come
  // Changes to what single ranks are given.
  std::map<RankIndex, std::function<void(NcclOptions&)>> other_options;
  std::map<RankIndex, std::function<void(RankPart&)>> other_part;
  // What single ranks do otherwise than their part of the plan says.
  std::map<RankIndex, std::function<void(LoweredRank&)>> other_work;
  // Called with every communicator before anything is bound on it.
  std::function<void(Communicator&)> on_communicator;
  // Communicators of an earlier team to be bound on, by rank.
  std::map<RankIndex, std::shared_ptr<Communicator>> communicators;
  // Memory of an earlier team to be bound again, by rank.
  std::map<RankIndex, std::shared_ptr<DeviceMirror>> mirrors;
};

class GpuTeam {
 public:
  explicit GpuTeam(Plan plan, GpuTeamOptions options = {});
  ~GpuTeam();

  // Makes communicators and binds, a thread for each rank; what failed, by rank.
  std::map<RankIndex, Error> Prepare();
  // The same, and nothing may fail.
  void PrepareAll();
  // Binds new engines on the communicators there are.
  std::map<RankIndex, Error> Rebind();

  void Fill(std::uint64_t refit);
  void Start(std::uint64_t version);  // a thread each: in eager mode ranks wait for each other
  // What WaitFor of each rank in `ranks` (empty: all) returned, a thread each; nothing if it
  // installed. longest_wait() is the longest of them.
  std::map<RankIndex, std::optional<Error>> WaitFor(std::chrono::nanoseconds deadline,
                                                    std::vector<RankIndex> ranks = {});
  // Fills, replays and checks one refit; nothing may fail.
  void Refit(std::uint64_t refit, std::chrono::nanoseconds deadline = std::chrono::seconds(60));
  void Check(std::uint64_t refit);

  std::vector<RankIndex> ranks() const;
  Engine& engine(RankIndex rank) { return *members_.at(rank).engine; }
  NcclBackend& backend(RankIndex rank) { return *members_.at(rank).backend; }
  Communicator& communicator(RankIndex rank) { return *members_.at(rank).communicator; }
  std::shared_ptr<Communicator> shared_communicator(RankIndex rank) {
    return members_.at(rank).communicator;
  }
  std::shared_ptr<DeviceMirror> mirror(RankIndex rank) { return members_.at(rank).mirror; }
  const Plan& plan() const { return *plan_; }
  std::chrono::nanoseconds longest_wait() const { return longest_wait_; }

 private:
  struct Member {
    std::shared_ptr<DeviceMirror> mirror;
    std::shared_ptr<Communicator> communicator;
    std::unique_ptr<Engine> engine;
    NcclBackend* backend = nullptr;
  };

  std::optional<Error> PrepareMember(RankIndex rank, const UniqueId& id);
  std::optional<Error> BindMember(RankIndex rank);
  template <typename Function>
  std::map<RankIndex, Error> OnAll(const Function& function);

  std::shared_ptr<Plan> plan_;
  GpuTeamOptions options_;
  std::map<RankIndex, Member> members_;
  std::chrono::nanoseconds longest_wait_{0};
};

// Where the ranks of `job` sit if all is as the plan believes: hosts, GPUs and fabrics to match.
MachineFacts PlannedMachine(const JobRecords& job, RankIndex rank);

}  // namespace reshard
