// Whether all ranks of a job have the same content after a refit: the digests of every fragment, of
// all its holders and needers, compared whatever carries the comparison.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/fragment_digests.h"
#include "runtime/rank_minimum.h"
#include "schedules/plan.h"

namespace reshard {

class ContentCheck {
 public:
  // `plan` has passed Verify() and outlives the check.
  ContentCheck(const Plan& plan, RankIndex rank)
      : plan_(plan),
        rank_(rank),
        held_(HeldFragments(plan, rank)),
        needed_(NeededFragments(plan, rank)) {}
  ContentCheck(Plan&& plan, RankIndex rank) = delete;

  // What the rank is to digest: its source parameters before a refit, which may overwrite them, and
  // its destination parameters after it.
  const DigestTable& held() const { return held_.table; }
  const DigestTable& needed() const { return needed_.table; }

  // Collective. The digests of both tables, and what the rank has found in its own bytes besides.
  // Every rank fails if one does: with its own fault, or naming the lowest rank that has one.
  Result<void> Run(std::span<const std::uint64_t> held_digests,
                   std::span<const std::uint64_t> needed_digests, const Result<void>& own_bytes,
                   const MinimumOverRanks& minimum_over_ranks) const;

 private:
  // Of each fragment the least digest of this rank, then the complement of its greatest: their
  // minima over all ranks tell whether all holders have the same.
  std::vector<std::uint64_t> HeldExtremes(std::span<const std::uint64_t> held_digests) const;
  Result<void> CheckNeeded(std::span<const std::uint64_t> minima,
                           std::span<const std::uint64_t> needed_digests) const;
  std::string Place() const { return "rank " + std::to_string(rank_); }

  const Plan& plan_;
  RankIndex rank_;
  FragmentDigests held_;
  FragmentDigests needed_;
};

}  // namespace reshard
