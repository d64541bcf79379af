#include "runtime/step_gathering.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace reshard {
namespace {

constexpr std::uint64_t kNothing = ~std::uint64_t{0};  // what the minimum with anything else leaves
constexpr std::size_t kWords = 4;                      // of a step: lane, round, start, end

}  // namespace

Result<std::vector<StepTime>> GatherSteps(const std::vector<StepTime>& own, std::int64_t zero_ns,
                                          RankIndex rank, RankIndex rank_count,
                                          const MinimumOverRanks& minimum_over_ranks) {
  const std::string what = "gathering when steps ran";
  std::uint64_t most[] = {~static_cast<std::uint64_t>(own.size())};
  if (Result<void> told = minimum_over_ranks(most, what); !told) {
    return tl::unexpected(told.error());
  }
  const std::size_t rank_words = kWords * static_cast<std::size_t>(~most[0]);
  std::vector<std::uint64_t> words(rank_words * static_cast<std::size_t>(rank_count), kNothing);
  std::size_t next = rank_words * static_cast<std::size_t>(rank);
  for (const StepTime& step : own) {
    for (const std::int64_t word : {static_cast<std::int64_t>(step.lane), std::int64_t{step.round},
                                    step.start_ns - zero_ns, step.end_ns - zero_ns}) {
      words[next++] = static_cast<std::uint64_t>(word);
    }
  }
  if (Result<void> told = minimum_over_ranks(words, what); !told) {
    return tl::unexpected(told.error());
  }
  std::vector<StepTime> steps;
  for (std::size_t at = 0; at < words.size(); at += kWords) {
    if (words[at] == kNothing) continue;
    steps.push_back({static_cast<RankIndex>(at / rank_words), static_cast<Lane>(words[at]),
                     static_cast<RoundIndex>(words[at + 1]),
                     static_cast<std::int64_t>(words[at + 2]),
                     static_cast<std::int64_t>(words[at + 3])});
  }
  return FromFirstStart(std::move(steps));
}

std::vector<StepTime> FromFirstStart(std::vector<StepTime> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepTime& a, const StepTime& b) { return a.end_ns < b.end_ns; });
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const StepTime& step : steps) first = std::min(first, step.start_ns);
  for (StepTime& step : steps) {
    step.start_ns -= first;
    step.end_ns -= first;
  }
  return steps;
}

}  // namespace reshard
