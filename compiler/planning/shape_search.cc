#include "compiler/planning/shape_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/planning/lowering.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::int32_t kMaxFullRounds = 4096;
constexpr std::int32_t kTailRounds = 4;
constexpr std::int32_t kMaxTailRounds = 12;
constexpr std::int32_t kTaperStep = 10;
constexpr std::int32_t kMaxTaper = 90;
// From this many rounds on, the fewest that fit the staging are nearly the best: a round more costs
// its overhead, and a tail of a sixteenth of a round has little left to win. In plans of so many
// transfers nothing else is tried.
constexpr std::int32_t kManyRounds = 16;
constexpr std::size_t kManyTransfers = 2'000;
// With more than this it is not even predicted: that takes as long as all of the planning.
constexpr std::size_t kUntriedTransfers = 5'000;
// Tries times transfers, and times hops: beyond either what is found so far is taken, but not
// before so many tries.
constexpr std::size_t kMostTriedTransfers = 60'000;
constexpr std::size_t kMostTriedHops = 500'000;
constexpr std::int32_t kTriesAllowed = 16;

// As options give it, which may be parts of one.
std::string MebibytesText(std::int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1 ? fmt::format("{:.3g} MiB", mebibytes)
                       : fmt::format("{:.7g} MiB", mebibytes);
}

// The most bytes that any rank sends or receives over the network in one round.
std::int64_t NetworkBytesOfFullestRound(const Plan& plan) {
  std::vector<std::vector<std::int64_t>> starts;
  for (const Column& column : plan.columns) {
    starts.push_back(ChunkStarts(column, plan.profiles[static_cast<std::size_t>(column.profile)]));
  }
  const auto rounds = static_cast<std::size_t>(plan.round_count);
  std::vector<std::vector<std::int64_t>> sent(plan.job.ranks.size());
  std::vector<std::vector<std::int64_t>> received(plan.job.ranks.size());
  std::int64_t fullest = 0;
  for (const Transfer& transfer : plan.transfers) {
    const auto from = static_cast<std::size_t>(transfer.from);
    const auto to = static_cast<std::size_t>(transfer.to);
    if (plan.job.ranks[from].domain == plan.job.ranks[to].domain) continue;
    sent[from].resize(rounds, 0);
    received[to].resize(rounds, 0);
    const SlotRun& run = transfer.destination;
    const Slot& slot = plan.schedules[to].slots[static_cast<std::size_t>(run.slot)];
    for (std::int32_t i = 0; i < run.item_count; ++i) {
      const SlotItem& item =
          slot.items[static_cast<std::size_t>(run.first_item) + static_cast<std::size_t>(i)];
      const std::vector<std::int64_t>& chunks = starts[static_cast<std::size_t>(item.column)];
      for (std::size_t k = 0; k + 1 < chunks.size(); ++k) {
        const std::size_t round = static_cast<std::size_t>(item.first_round) + k;
        for (std::int64_t* bytes : {&sent[from][round], &received[to][round]}) {
          *bytes += chunks[k + 1] - chunks[k];
          fullest = std::max(fullest, *bytes);
        }
      }
    }
  }
  return fullest;
}

// Few and long rounds cost little overhead and much staging and tail, many short ones the reverse.
// The predicted time has one valley between, so the search walks down it.
class ShapeSearch {
 public:
  ShapeSearch(const CostModel& cost_model, const Deliveries& deliveries, const Routes& routes,
              const Phases& phases, std::int64_t peak_bytes, double enough_seconds, Plan& plan)
      : cost_model_(cost_model),
        deliveries_(deliveries),
        routes_(routes),
        phases_(phases),
        links_(MakeTransferLinks(plan.job, routes, phases)),
        peak_bytes_(peak_bytes),
        enough_seconds_(enough_seconds),
        plan_(plan) {}

  Result<ShapeChoice> Run() {
    Result<ShapeChoice> least = LeastRounds();
    if (!least) return tl::unexpected(least.error());
    if (least->last.full >= kManyRounds) {
      if (plan_.transfers.size() > kUntriedTransfers) return least;  // and lowered that way already
      if (Result<bool> tried = Try(*least); !tried) return tl::unexpected(tried.error());
      if (best_.seconds <= enough_seconds_ || plan_.transfers.size() > kManyTransfers) return best_;
    } else if (Result<void> tried = TryOnePiece(*least); !tried) {
      return tl::unexpected(tried.error());
    }
    if (Result<void> tried = WalkFullRounds(*least); !tried) return tl::unexpected(tried.error());
    if (Result<void> tried = TryRamps(*least); !tried) return tl::unexpected(tried.error());
    if (Result<void> tried = Descend(); !tried) return tl::unexpected(tried.error());
    Lower(best_);
    return best_;
  }

  Result<std::optional<ShapeChoice>> Only(const ShapeChoice& shape) {
    Result<bool> tried = Try(shape);
    if (!tried) return tl::unexpected(tried.error());
    return *tried ? std::optional(best_) : std::nullopt;
  }

 private:
  LoweringSummary Lower(const ShapeChoice& shape) {
    std::int64_t total = 0;
    for (std::size_t p = 0; p + 1 < phases_.bytes.size(); ++p) total += phases_.bytes[p];
    std::vector<RoundShape> shapes;
    for (const std::int64_t bytes : phases_.bytes) {
      const double share =
          static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, total));
      shapes.push_back(
          {std::max(1, static_cast<std::int32_t>(std::ceil(share * shape.before))), 0});
    }
    shapes.back() = shape.last;
    return LowerRoutes(deliveries_, routes_, phases_, links_, shapes, plan_);
  }

  // The fewest rounds whose chunks fit the staging and the chunk ceiling. A rank's staging is
  // a / f + b / s with f rounds of the last phase and s of those before: f + s is least for
  //   f = (a + sqrt(a b)) / staging,  s = (b + sqrt(a b)) / staging.
  // Of many phases, whose slots share memory, all rounds are to be equally full.
  Result<ShapeChoice> LeastRounds() {
    const Options& options = plan_.job.options;
    const auto limit = static_cast<double>(std::max<std::int64_t>(1, options.staging_bytes));
    const bool many = phases_.bytes.size() >= kManyPhases;
    const LoweringSummary probe = Lower({1, {1, kTailRounds}});
    const auto a = static_cast<double>(probe.last_phase_staging_bytes) * 2;  // of half its bytes
    const auto b = static_cast<double>(probe.earlier_staging_bytes);
    ShapeChoice shape{std::max(1, static_cast<std::int32_t>(
                                      std::min(1e6, std::ceil((b + std::sqrt(a * b)) / limit)))),
                      {1, kTailRounds}};
    double full = std::max(1.0, std::floor((a + std::sqrt(a * b)) / limit) - 1);
    const auto ratio = [](std::int64_t bytes, std::int64_t most) {
      return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, most));
    };
    double staging_excess = full > kMaxFullRounds ? 2 : 0;  // as far as is known
    if (options.chunk_bytes > 0) {
      full = std::max(full, static_cast<double>(CeilDivide(peak_bytes_, options.chunk_bytes)) - 1);
    }
    double rounds = static_cast<double>(phases_.bytes.size());
    if (many) shape.before = EarlierRounds(rounds, full);
    while (full <= kMaxFullRounds && shape.before <= kMaxFullRounds) {
      shape.last.full = static_cast<std::int32_t>(full);
      Lower(shape);
      staging_excess = ratio(StagingBytesMax(plan_), options.staging_bytes);
      double excess = staging_excess;
      if (options.chunk_bytes > 0) {
        excess = std::max(excess, ratio(NetworkBytesOfFullestRound(plan_), options.chunk_bytes));
      }
      if (excess <= 1) return shape;
      const double more = std::min(excess, 8.0);
      if (many) {
        rounds = std::max(rounds + 1, std::ceil(rounds * more));
        shape.before = EarlierRounds(rounds, full);
        continue;
      }
      full = std::max(full + 1, std::floor((full + 1) * more) - 1);
      if (excess > 1.5) shape.before = static_cast<std::int32_t>(std::ceil(shape.before * more));
    }
    if (staging_excess > 1) {
      return InputError("options.stagingMiB",
                        "the refit needs more staging than " +
                            MebibytesText(options.staging_bytes) + " on some rank",
                        "raise options.stagingMiB");
    }
    return InputError("options.chunkMiB",
                      "no number of rounds keeps every NIC within " +
                          MebibytesText(options.chunk_bytes) + " a round",
                      "raise options.chunkMiB");
  }

  // Of `rounds` that are equally full, those of the phases before the last one, which has `full`.
  std::int32_t EarlierRounds(double rounds, double& full) const {
    double total = 0;
    for (const std::int64_t bytes : phases_.bytes) total += static_cast<double>(bytes);
    const double share = static_cast<double>(phases_.bytes.back()) / std::max(1.0, total);
    full = std::max(1.0, std::floor(rounds * share));
    return static_cast<std::int32_t>(std::max(1.0, rounds - full));
  }

  // Whether the plan as lowered keeps the limits of the options.
  bool Fits() const {
    const Options& options = plan_.job.options;
    return StagingBytesMax(plan_) <= options.staging_bytes &&
           (options.chunk_bytes == 0 || NetworkBytesOfFullestRound(plan_) <= options.chunk_bytes);
  }

  // True if it is the best so far.
  Result<bool> Try(const ShapeChoice& shape) {
    if (!known_.insert({shape.before, shape.last}).second) return false;
    Lower(shape);
    if (!Fits()) return false;
    ++tries_;
    Result<double> seconds = cost_model_.PredictSeconds(plan_);
    if (!seconds) return tl::unexpected(seconds.error());
    if (tried_ && *seconds >= best_.seconds) return false;
    tried_ = true;
    best_ = shape;
    best_.seconds = *seconds;
    return true;
  }

  // A job of microseconds is best sent as it is.
  Result<void> TryOnePiece(const ShapeChoice& least) {
    Result<bool> tried = Try({1, {1, 0}});
    if (!tried) return tl::unexpected(tried.error());
    if (least.last.full > 1) return {};
    tried = Try({1, {2, 0}});
    if (!tried) return tl::unexpected(tried.error());
    return {};
  }

  Result<void> WalkFullRounds(const ShapeChoice& least) {
    std::int32_t worse = 0;
    for (std::int32_t full = least.last.full; full <= kMaxFullRounds && worse < 2;
         full = std::max(full + 1, full * 3 / 2)) {
      Result<bool> better = Try({least.before, {full, kTailRounds}});
      if (!better) return tl::unexpected(better.error());
      worse = *better ? 0 : worse + 1;
    }
    return {};
  }

  // A refit of few rounds may want nothing but a ramp and a tail.
  Result<void> TryRamps(const ShapeChoice& least) {
    for (const std::int32_t percent : {40, 60}) {
      if (Spent()) return {};
      Result<bool> tried = Try({least.before, {least.last.full, 4, percent, 4, percent}});
      if (!tried) return tl::unexpected(tried.error());
    }
    return {};
  }

  // Longer and shorter ramps and tails, gentler and steeper ones, more and fewer full rounds, as
  // long as it gets better.
  Result<void> Descend() {
    using Change = std::function<void(RoundShape&)>;
    const std::vector<Change> changes{
        [](RoundShape& shape) { shape.tail -= 1; },
        [](RoundShape& shape) { shape.tail += 1; },
        [](RoundShape& shape) {
          shape.taper_percent += kTaperStep;
          shape.tail += 1;
        },
        [](RoundShape& shape) {
          shape.taper_percent -= kTaperStep;
          shape.tail -= 1;
        },
        [](RoundShape& shape) { shape.ramp += 1; },
        [](RoundShape& shape) { shape.ramp -= 1; },
        [](RoundShape& shape) {
          shape.ramp_percent += kTaperStep;
          shape.ramp += 1;
        },
        [](RoundShape& shape) {
          shape.ramp_percent -= kTaperStep;
          shape.ramp -= 1;
        },
        [](RoundShape& shape) { shape.full -= std::max(1, shape.full / 4); },
        [](RoundShape& shape) { shape.full += std::max(1, shape.full / 4); },
    };
    bool better_of_any = true;
    while (better_of_any && !Spent()) {
      better_of_any = false;
      for (const Change& change : changes) {
        while (!Spent()) {
          ShapeChoice next = best_;
          change(next.last);
          if (!IsAShape(next.last)) break;
          Result<bool> better = Try(next);
          if (!better) return tl::unexpected(better.error());
          if (!*better) break;
          better_of_any = true;
        }
      }
    }
    return {};
  }

  static bool IsAShape(const RoundShape& shape) {
    const auto within = [](std::int32_t count, std::int32_t percent) {
      return count >= 0 && count <= kMaxTailRounds && percent >= kTaperStep && percent <= kMaxTaper;
    };
    return shape.full >= 1 && shape.full <= kMaxFullRounds &&
           within(shape.tail, shape.taper_percent) && within(shape.ramp, shape.ramp_percent);
  }

  // Predictions take time in proportion to transfers, lowering to hops.
  bool Spent() const {
    const auto tries = static_cast<std::size_t>(tries_);
    return tries_ >= kTriesAllowed && (tries * plan_.transfers.size() > kMostTriedTransfers ||
                                       tries * links_.hops.size() > kMostTriedHops);
  }

  const CostModel& cost_model_;
  const Deliveries& deliveries_;
  const Routes& routes_;
  const Phases& phases_;
  TransferLinks links_;
  std::int64_t peak_bytes_;
  double enough_seconds_;
  Plan& plan_;
  bool tried_ = false;
  std::int32_t tries_ = 0;
  std::set<std::pair<std::int32_t, RoundShape>> known_;
  ShapeChoice best_;
};

}  // namespace

Result<ShapeChoice> SearchShapes(const CostModel& cost_model, const Deliveries& deliveries,
                                 const Routes& routes, const Phases& phases,
                                 std::int64_t peak_network_bytes, double enough_seconds,
                                 Plan& plan) {
  return ShapeSearch(cost_model, deliveries, routes, phases, peak_network_bytes, enough_seconds,
                     plan)
      .Run();
}

Result<std::optional<ShapeChoice>> TryShape(const CostModel& cost_model,
                                            const Deliveries& deliveries, const Routes& routes,
                                            const Phases& phases, const ShapeChoice& shape,
                                            Plan& plan) {
  return ShapeSearch(cost_model, deliveries, routes, phases, 0, 0, plan).Only(shape);
}

}  // namespace reshard
