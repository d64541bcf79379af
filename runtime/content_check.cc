#include "runtime/content_check.h"

#include <algorithm>
#include <cstddef>

namespace reshard {

Result<void> ContentCheck::Run(std::span<const std::uint64_t> held_digests,
                               std::span<const std::uint64_t> needed_digests,
                               const Result<void>& own_bytes,
                               const MinimumOverRanks& minimum_over_ranks) const {
  std::vector<std::uint64_t> minima = HeldExtremes(held_digests);
  if (Result<void> compared = minimum_over_ranks(minima, "comparing content digests"); !compared) {
    return compared;
  }
  Result<void> own = CheckNeeded(minima, needed_digests);
  if (!own_bytes) {
    // Which byte it is says more than which fragment: both where both know.
    Error error = own_bytes.error();
    if (!own) error.reason += "; " + own.error().reason;
    own = tl::unexpected(error);
  }
  // All ranks end alike: those that are right must not wait for others that have left.
  const auto rank_count = static_cast<std::uint64_t>(plan_.job.ranks.size());
  std::uint64_t wrong_rank[] = {own ? rank_count : static_cast<std::uint64_t>(rank_)};
  const Result<void> agreed = minimum_over_ranks(wrong_rank, "checking content");
  if (!own || !agreed) return own ? agreed : own;
  if (wrong_rank[0] == rank_count) return {};
  return RunError(Place(),
                  "its content is right, that of rank " + std::to_string(wrong_rank[0]) + " is not",
                  "see the error of that rank");
}

std::vector<std::uint64_t> ContentCheck::HeldExtremes(
    std::span<const std::uint64_t> held_digests) const {
  const auto count = static_cast<std::size_t>(plan_.demand.fragments.size());
  std::vector<std::uint64_t> extremes(2 * count, ~std::uint64_t{0});
  for (std::size_t i = 0; i < held_digests.size(); ++i) {
    const auto fragment = static_cast<std::size_t>(held_.fragments[i]);
    extremes[fragment] = std::min(extremes[fragment], held_digests[i]);
    extremes[count + fragment] = std::min(extremes[count + fragment], ~held_digests[i]);
  }
  return extremes;
}

Result<void> ContentCheck::CheckNeeded(std::span<const std::uint64_t> minima,
                                       std::span<const std::uint64_t> needed_digests) const {
  const std::size_t count = minima.size() / 2;
  for (std::size_t i = 0; i < needed_digests.size(); ++i) {
    const auto number = static_cast<std::size_t>(needed_.fragments[i]);
    const bool holders_agree = minima[number] == ~minima[count + number];
    if (holders_agree && needed_digests[i] == minima[number]) continue;
    const Fragment fragment = plan_.demand.fragments[needed_.fragments[i]];
    const Tensor& tensor = plan_.job.tensors[static_cast<std::size_t>(fragment.tensor)];
    return RunError(Place(),
                    "fragment " + std::to_string(number) + " (of tensor " + tensor.name + ")" +
                        (holders_agree ? " has another content digest than on its holders"
                                       : " has not the same content on all its holders"),
                    "verify the plan; if it passes, report this");
  }
  return {};
}

}  // namespace reshard
