#include "tools/replay_overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "schedules/lane_names.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr std::size_t kMaxRoundRows = 24;
constexpr std::size_t kMaxRankRows = 8;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

double SecondsOf(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// Which of a TimePair a run of steps fills.
using Part = double TimePair::*;

// What both sides sum up alike.
class OverlayBuilder {
 public:
  OverlayBuilder(std::size_t ranks, RoundIndex rounds) {
    for (int lane = 0; lane < kLaneCount; ++lane) {
      overlay_.lanes.emplace_back().lane = static_cast<Lane>(lane);
    }
    overlay_.rounds.resize(At(rounds));
    for (RoundIndex round = 0; round < rounds; ++round) overlay_.rounds[At(round)].round = round;
    overlay_.ranks.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      overlay_.ranks[rank].rank = static_cast<RankIndex>(rank);
    }
  }

  void Add(const std::vector<StepTime>& steps, Part part) {
    std::int64_t start = std::numeric_limits<std::int64_t>::max();
    for (const StepTime& step : steps) start = std::min(start, step.start_ns);
    for (const StepTime& step : steps) {
      const auto lane = static_cast<std::size_t>(step.lane);
      const double seconds = SecondsOf(step.end_ns - step.start_ns);
      const double end = SecondsOf(step.end_ns - start);
      LaneOverlay& sums = overlay_.lanes[lane];
      ++(part == &TimePair::predicted ? sums.predicted_steps : sums.measured_steps);
      sums.mean_step.*part += seconds;  // the sum, for now
      Raise(sums.end.*part, end);
      Raise(overlay_.end.*part, end);
      Raise(overlay_.rounds[At(step.round)].longest[lane].*part, seconds);
      RankOverlay& rank = overlay_.ranks[At(step.rank)];
      rank.busy[lane].*part += seconds;
      Raise(rank.end.*part, end);
    }
  }

  // How much later than the median rank each began its exchanges.
  void AddLateness(const std::vector<StepTime>& steps) {
    std::vector<std::vector<const StepTime*>> by_round(overlay_.rounds.size());
    for (const StepTime& step : steps) {
      if (step.lane == Lane::kExchange) by_round[At(step.round)].push_back(&step);
    }
    for (std::vector<const StepTime*>& round : by_round) {
      if (round.empty()) continue;
      std::vector<std::int64_t> starts;
      for (const StepTime* step : round) starts.push_back(step->start_ns);
      const auto middle = starts.begin() + static_cast<std::ptrdiff_t>((starts.size() - 1) / 2);
      std::nth_element(starts.begin(), middle, starts.end());
      for (const StepTime* step : round) {
        const std::int64_t late = std::max<std::int64_t>(step->start_ns - *middle, 0);
        overlay_.ranks[At(step->rank)].late_seconds += SecondsOf(late);
      }
    }
  }

  ReplayOverlay Take() {
    for (LaneOverlay& lane : overlay_.lanes) {
      lane.mean_step.predicted /=
          static_cast<double>(std::max<std::int64_t>(lane.predicted_steps, 1));
      lane.mean_step.measured /=
          static_cast<double>(std::max<std::int64_t>(lane.measured_steps, 1));
    }
    std::stable_sort(overlay_.ranks.begin(), overlay_.ranks.end(),
                     [](const RankOverlay& a, const RankOverlay& b) {
                       return std::tuple(a.late_seconds, a.end.measured) >
                              std::tuple(b.late_seconds, b.end.measured);
                     });
    return std::move(overlay_);
  }

 private:
  static void Raise(double& most, double value) { most = std::max(most, value); }

  ReplayOverlay overlay_;
};

Result<void> CheckSteps(const Plan& plan, const TraceSteps& measured, const std::string& file) {
  if (measured.digest != plan.job_digest) {
    return InputError(file,
                      "it is of job " + measured.digest + ", the plan of job " + plan.job_digest,
                      "replay this plan with --trace");
  }
  if (measured.steps.empty()) return InputError(file, "it has no steps", "replay with --trace");
  for (const StepTime& step : measured.steps) {
    if (At(step.rank) < plan.job.ranks.size() && step.round < plan.round_count) continue;
    return InputError(file,
                      fmt::format("it has round {} of rank {}, the plan has {} rounds and {} ranks",
                                  step.round, step.rank, plan.round_count, plan.job.ranks.size()),
                      "replay this plan with --trace");
  }
  return {};
}

std::string RatioText(const TimePair& pair) {
  if (!(pair.predicted > 0)) return "-";
  return fmt::format("{:.3g}x", pair.measured / pair.predicted);
}

JsonValue PairJson(const TimePair& pair) {
  return JsonValue::Object{{"predictedSeconds", pair.predicted},
                           {"measuredSeconds", pair.measured}};
}

OverlayTable LaneTable(const ReplayOverlay& overlay) {
  TextTable table({{"lane", Alignment::kLeft},
                   {"steps", Alignment::kRight},
                   {"mean, predicted", Alignment::kRight},
                   {"measured", Alignment::kRight},
                   {"last end, predicted", Alignment::kRight},
                   {"measured", Alignment::kRight},
                   {"ratio", Alignment::kRight}});
  for (const LaneOverlay& lane : overlay.lanes) {
    if (lane.predicted_steps + lane.measured_steps == 0) continue;
    std::string steps = CountText(lane.predicted_steps);
    if (lane.measured_steps != lane.predicted_steps) {
      steps = fmt::format("{} of {}", CountText(lane.measured_steps), steps);
    }
    table.AddRow({LaneName(lane.lane), std::move(steps), SecondsText(lane.mean_step.predicted),
                  SecondsText(lane.mean_step.measured), SecondsText(lane.end.predicted),
                  SecondsText(lane.end.measured), RatioText(lane.end)});
  }
  return {"predicted and measured, by lane", std::move(table)};
}

// How far apart the two are: what a reader looks for first.
double Distance(const RoundOverlay& round) {
  double distance = 0;
  for (const TimePair& pair : round.longest) distance += pair.measured - pair.predicted;
  return distance;
}

OverlayTable RoundTable(const ReplayOverlay& overlay) {
  std::vector<const RoundOverlay*> rounds;
  for (const RoundOverlay& round : overlay.rounds) rounds.push_back(&round);
  std::string title = "longest step of each round";
  if (rounds.size() > kMaxRoundRows) {
    std::stable_sort(rounds.begin(), rounds.end(),
                     [](const auto* a, const auto* b) { return Distance(*a) > Distance(*b); });
    rounds.resize(kMaxRoundRows);
    std::sort(rounds.begin(), rounds.end(),
              [](const auto* a, const auto* b) { return a->round < b->round; });
    title = fmt::format("longest step of those {} of {} rounds that exceed their prediction most",
                        kMaxRoundRows, CountText(static_cast<std::int64_t>(overlay.rounds.size())));
  }
  TextTable table({{"round", Alignment::kRight},
                   {"pack, predicted", Alignment::kRight},
                   {"measured", Alignment::kRight},
                   {"exchange, predicted", Alignment::kRight},
                   {"measured", Alignment::kRight},
                   {"unpack, predicted", Alignment::kRight},
                   {"measured", Alignment::kRight}});
  for (const RoundOverlay* round : rounds) {
    std::vector<std::string> cells{CountText(round->round)};
    for (const TimePair& pair : round->longest) {
      cells.push_back(pair.predicted > 0 ? SecondsText(pair.predicted) : "-");
      cells.push_back(pair.measured > 0 ? SecondsText(pair.measured) : "-");
    }
    table.AddRow(std::move(cells));
  }
  return {std::move(title), std::move(table)};
}

OverlayTable RankTable(const ReplayOverlay& overlay, const Plan& plan) {
  TextTable table({{"rank", Alignment::kRight},
                   {"GPU", Alignment::kRight},
                   {"domain", Alignment::kRight},
                   {"late", Alignment::kRight},
                   {"pack", Alignment::kRight},
                   {"exchange", Alignment::kRight},
                   {"unpack", Alignment::kRight},
                   {"end", Alignment::kRight},
                   {"predicted", Alignment::kRight}});
  const std::size_t count = std::min(overlay.ranks.size(), kMaxRankRows);
  for (std::size_t i = 0; i < count; ++i) {
    const RankOverlay& rank = overlay.ranks[i];
    const Rank& record = plan.job.ranks[At(rank.rank)];
    std::vector<std::string> cells{std::to_string(rank.rank), std::to_string(record.gpu),
                                   std::to_string(record.domain), SecondsText(rank.late_seconds)};
    for (const TimePair& busy : rank.busy) cells.push_back(SecondsText(busy.measured));
    cells.push_back(SecondsText(rank.end.measured));
    cells.push_back(SecondsText(rank.end.predicted));
    table.AddRow(std::move(cells));
  }
  return {"slowest ranks: late is how much after the median rank they began their exchanges",
          std::move(table)};
}

}  // namespace

Result<ReplayOverlay> MakeOverlay(const Plan& plan, const std::vector<StepTime>& predicted,
                                  const TraceSteps& measured, const std::string& file) {
  if (Result<void> fine = CheckSteps(plan, measured, file); !fine) {
    return tl::unexpected(fine.error());
  }
  OverlayBuilder builder(plan.job.ranks.size(), plan.round_count);
  builder.Add(predicted, &TimePair::predicted);
  builder.Add(measured.steps, &TimePair::measured);
  builder.AddLateness(measured.steps);
  ReplayOverlay overlay = builder.Take();
  overlay.file = file;
  return overlay;
}

void AppendFields(const ReplayOverlay& overlay, JsonValue::Object& fields) {
  JsonValue::Array lanes;
  for (const LaneOverlay& lane : overlay.lanes) {
    lanes.emplace_back(JsonValue::Object{{"lane", LaneName(lane.lane)},
                                         {"predictedSteps", lane.predicted_steps},
                                         {"measuredSteps", lane.measured_steps},
                                         {"meanStep", PairJson(lane.mean_step)},
                                         {"end", PairJson(lane.end)}});
  }
  const auto by_lane = [](const TimePair(&pairs)[kLaneCount], JsonValue::Object& object) {
    for (int lane = 0; lane < kLaneCount; ++lane) {
      object.emplace_back(kLaneNames[lane], PairJson(pairs[lane]));
    }
  };
  JsonValue::Array rounds;
  for (const RoundOverlay& round : overlay.rounds) {
    JsonValue::Object object{{"round", round.round}};
    by_lane(round.longest, object);
    rounds.emplace_back(std::move(object));
  }
  JsonValue::Array ranks;
  for (const RankOverlay& rank : overlay.ranks) {
    JsonValue::Object object{
        {"rank", rank.rank}, {"lateSeconds", rank.late_seconds}, {"end", PairJson(rank.end)}};
    by_lane(rank.busy, object);
    ranks.emplace_back(std::move(object));
  }
  fields.emplace_back("overlay", JsonValue::Object{{"file", overlay.file},
                                                   {"end", PairJson(overlay.end)},
                                                   {"lanes", std::move(lanes)},
                                                   {"rounds", std::move(rounds)},
                                                   {"ranks", std::move(ranks)}});
}

std::vector<OverlayTable> OverlayTables(const ReplayOverlay& overlay, const Plan& plan) {
  return {LaneTable(overlay), RoundTable(overlay), RankTable(overlay, plan)};
}

std::string OverlayText(const ReplayOverlay& overlay, const Plan& plan) {
  std::string text;
  for (const OverlayTable& part : OverlayTables(overlay, plan)) {
    text += "\n" + part.title + ":\n" + part.table.Text();
  }
  return text;
}

}  // namespace reshard
