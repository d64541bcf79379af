#include "simulator/arrow_choice.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <vector>

#include "schedules/number_text.h"

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

std::string OrdinalText(RoundIndex number) {
  const RoundIndex tens = number / 10 % 10;
  const RoundIndex ones = number % 10;
  const char* const ending = tens == 1   ? "th"
                             : ones == 1 ? "st"
                             : ones == 2 ? "nd"
                             : ones == 3 ? "rd"
                                         : "th";
  return fmt::format("{}{}", number, ending);
}

}  // namespace

ArrowChoice::ArrowChoice(const Plan& plan, const ReplayModel& model, std::int64_t arrows_max)
    : plan_(plan) {
  // Transfers that begin less those that end with a round, then summed to transfers of the round.
  std::vector<std::int64_t> between(At(model.round_count) + 1);
  for (std::size_t t = 0; t < model.transfers.size(); ++t) {
    const std::span<const Segment> segments = model.Of(model.transfers[t].bytes);
    const bool counts = IsBetweenDomains(static_cast<TransferIndex>(t));
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      if (segments[i].bytes == 0) continue;
      all_ += segments[i + 1].first_round - segments[i].first_round;
      if (!counts) continue;
      ++between[At(segments[i].first_round)];
      --between[At(segments[i + 1].first_round)];
    }
  }
  chosen_ = all_;
  if (all_ <= arrows_max) return;
  for (std::size_t round = 1; round < between.size(); ++round) between[round] += between[round - 1];
  takes_inside_ = false;
  for (every_ = 1; every_ <= model.round_count; ++every_) {
    chosen_ = 0;
    for (std::size_t round = 0; round < between.size(); round += At(every_)) {
      chosen_ += between[round];
    }
    if (chosen_ <= arrows_max) return;
  }
  // Round 0 alone has too many.
  every_ = 1;
  chosen_ = 0;
  takes_none_ = true;
}

bool ArrowChoice::IsBetweenDomains(TransferIndex transfer) const {
  const Transfer& record = plan_.transfers[At(transfer)];
  return plan_.job.ranks[At(record.from)].domain != plan_.job.ranks[At(record.to)].domain;
}

std::string ArrowChoice::Text() const {
  if (chosen_ == all_) return fmt::format("all {} transfers", CountText(all_));
  std::string text = fmt::format("{} of {} transfers", CountText(chosen_), CountText(all_));
  if (takes_none_) return text + ": the first round alone has too many";
  text += ": those over NICs";
  if (every_ > 1) text += fmt::format(" of every {} round", OrdinalText(every_));
  return text;
}

}  // namespace reshard
