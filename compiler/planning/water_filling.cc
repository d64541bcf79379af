#include "compiler/planning/water_filling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reshard {
namespace {

constexpr int kMaxSweeps = 24;
constexpr double kSettledFraction = 1e-4;  // of a request's bytes that may still move

class Splitter {
 public:
  Splitter(std::span<const SplitRequest> requests, std::span<const double> rates,
           std::vector<double>& loads)
      : requests_(requests), rates_(rates), loads_(loads), shares_(requests.size()) {}

  std::vector<std::vector<std::int64_t>> Run() {
    std::vector<std::size_t> order(requests_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].candidates.size() < requests_[b].candidates.size();
    });
    for (const std::size_t i : order) shares_[i].assign(requests_[i].candidates.size(), 0.0);
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      double moved = 0;
      double total = 0;
      for (const std::size_t i : order) {
        moved += Refill(i);
        total += static_cast<double>(requests_[i].bytes);
      }
      if (sweep > 0 && moved <= kSettledFraction * total) break;
    }
    std::vector<std::vector<std::int64_t>> result;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      result.push_back(Round(i));
      for (std::size_t k = 0; k < result[i].size(); ++k) {
        loads_[static_cast<std::size_t>(requests_[i].candidates[k])] +=
            static_cast<double>(result[i][k]) - shares_[i][k];
      }
    }
    return result;
  }

 private:
  // Empties request i and fills it again: raise the water level over its candidates until its bytes
  // are placed. Returns how many bytes lie elsewhere than before.
  double Refill(std::size_t i) {
    const SplitRequest& request = requests_[i];
    std::vector<double>& share = shares_[i];
    const std::size_t count = request.candidates.size();
    if (count == 0) return 0;
    before_ = share;
    levels_.clear();
    double usable = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const auto c = static_cast<std::size_t>(request.candidates[k]);
      loads_[c] -= share[k];
      share[k] = 0;
      usable += rates_[c];
    }
    for (std::size_t k = 0; k < count; ++k) {
      const auto c = static_cast<std::size_t>(request.candidates[k]);
      const double rate = usable > 0 ? rates_[c] : 1.0;
      if (rate > 0) levels_.push_back({loads_[c] / rate, rate, k});
    }
    std::stable_sort(levels_.begin(), levels_.end(),
                     [](const Level& a, const Level& b) { return a.level < b.level; });
    auto left = static_cast<double>(request.bytes);
    double rate = 0;
    double level = levels_[0].level;
    std::size_t open = 0;
    for (; open < levels_.size(); ++open) {
      const double room = (levels_[open].level - level) * rate;
      if (room >= left) break;
      left -= room;
      level = levels_[open].level;
      rate += levels_[open].rate;
    }
    level += left / rate;
    double moved = 0;
    for (std::size_t j = 0; j < open; ++j) {
      const std::size_t k = levels_[j].candidate;
      share[k] = std::max(0.0, (level - levels_[j].level) * levels_[j].rate);
    }
    for (std::size_t k = 0; k < count; ++k) {
      loads_[static_cast<std::size_t>(request.candidates[k])] += share[k];
      moved += std::abs(share[k] - before_[k]);
    }
    return moved;
  }

  // Whole aligned bytes: running sums are rounded, so that nothing is lost and no share is off by
  // more than one unit.
  std::vector<std::int64_t> Round(std::size_t i) const {
    const SplitRequest& request = requests_[i];
    std::vector<std::int64_t> whole(request.candidates.size(), 0);
    double sum = 0;
    std::int64_t given = 0;
    // Too few bytes for a unit go where most of them would.
    auto last = static_cast<std::size_t>(std::ranges::max_element(shares_[i]) - shares_[i].begin());
    for (std::size_t k = 0; k < whole.size(); ++k) {
      if (shares_[i][k] <= 0) continue;
      sum += shares_[i][k];
      auto upto = static_cast<std::int64_t>(std::llround(sum / kSplitAlignmentBytes)) *
                  kSplitAlignmentBytes;
      upto = std::min(upto, request.bytes);
      whole[k] = upto - given;
      given = upto;
      if (whole[k] > 0) last = k;
    }
    if (!whole.empty()) whole[last] += request.bytes - given;
    return whole;
  }

  struct Level {
    double level;
    double rate;
    std::size_t candidate;
  };
  std::span<const SplitRequest> requests_;
  std::span<const double> rates_;
  std::vector<double>& loads_;
  std::vector<std::vector<double>> shares_;
  std::vector<double> before_;
  std::vector<Level> levels_;
};

}  // namespace

std::vector<std::vector<std::int64_t>> SplitBalanced(std::span<const SplitRequest> requests,
                                                     std::span<const double> rates,
                                                     std::vector<double>& loads) {
  return Splitter(requests, rates, loads).Run();
}

}  // namespace reshard
