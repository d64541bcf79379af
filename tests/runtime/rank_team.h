// Engines for all ranks of a plan on one host exchange, some of them altered or left out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/host_exchange.h"
#include "runtime/trial_content.h"
#include "schedules/plan.h"

namespace reshard {

struct TeamOptions {
  HostOptions host;
  std::vector<RankIndex> missing;  // never opened
  std::map<RankIndex, std::function<void(LoweredRank&)>> altered;
  std::map<RankIndex, std::function<void(RankPart&)>> other_part;
};

class RankTeam {
 public:
  // Reports a failure of the test where an engine cannot be opened or bound.
  explicit RankTeam(Plan plan, TeamOptions options = {});

  void Fill(std::uint64_t refit);
  void Start(std::uint64_t version);
  // Waits for all with one deadline; what each rank's WaitFor returned, nothing if it installed.
  std::map<RankIndex, std::optional<Error>> WaitForAll(std::chrono::nanoseconds deadline);

  Engine& engine(RankIndex rank) { return *engines_.at(rank); }
  TrialMemory& memory(RankIndex rank) { return *memories_.at(rank); }

 private:
  Plan plan_;                                                   // outlives the memories
  std::map<RankIndex, std::unique_ptr<TrialMemory>> memories_;  // outlive the engines
  std::map<RankIndex, std::unique_ptr<Engine>> engines_;
};

}  // namespace reshard
