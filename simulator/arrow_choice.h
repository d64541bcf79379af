// Which transfers of a replay get an arrow in a trace: all where they are few.
#pragma once

#include <cstdint>
#include <string>

#include "schedules/plan.h"
#include "simulator/replay_model.h"

namespace reshard {

class ArrowChoice {
 public:
  // At most `arrows_max`: of more transfers only those between domains, and of more of these only
  // those of every k-th round, with the least k. None if round 0 alone has too many.
  ArrowChoice(const Plan& plan, const ReplayModel& model, std::int64_t arrows_max);

  bool Wants(TransferIndex transfer, RoundIndex round) const {
    return !takes_none_ && round % every_ == 0 && (takes_inside_ || IsBetweenDomains(transfer));
  }
  // "all 640 transfers"; "23,552 of 1,204,224 transfers: those over NICs of every 3rd round".
  std::string Text() const;
  std::int64_t chosen() const { return chosen_; }

 private:
  bool IsBetweenDomains(TransferIndex transfer) const;

  const Plan& plan_;
  bool takes_none_ = false;
  bool takes_inside_ = true;
  RoundIndex every_ = 1;
  std::int64_t chosen_ = 0;
  std::int64_t all_ = 0;
};

}  // namespace reshard
