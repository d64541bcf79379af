#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// A sum that becomes nothing once it leaves 64 bits.
class CheckedSum {
 public:
  void AddProduct(std::int64_t a, std::int64_t b) {
    const std::optional<std::int64_t> product = CheckedMultiply(a, b);
    sum_ = sum_ && product ? CheckedAdd(*sum_, *product) : std::nullopt;
  }
  const std::optional<std::int64_t>& value() const { return sum_; }

 private:
  std::optional<std::int64_t> sum_ = 0;
};

tl::unexpected<Error> TooMany(std::string place) {
  return Broken(1, std::move(place), "its bytes or operations exceed 2^63");
}

class TrafficVerifier {
 public:
  TrafficVerifier(const Plan& plan, VerifierReport& report)
      : plan_(plan), traffic_(*plan.traffic), report_(report), arriving_(plan.job.ranks.size()) {}

  Result<void> Run() {
    if (plan_.round_count != 0 || !plan_.profiles.empty() || !plan_.columns.empty() ||
        !plan_.transfers.empty()) {
      return Broken(1, "traffic", "a simulation-only plan has rounds, columns or transfers");
    }
    const RankSchedule idle;
    for (std::size_t rank = 0; rank < plan_.schedules.size(); ++rank) {
      if (plan_.schedules[rank] == idle) continue;
      return Broken(1, fmt::format("rank {}", rank), "it has a schedule in a simulation-only plan");
    }
    for (std::size_t s = 0; s < traffic_.streams.size(); ++s) {
      const std::int64_t last = s == 0 ? 0 : traffic_.streams[s - 1].turn;
      const std::int64_t step = traffic_.streams[s].turn - last;
      if (step < 0 || step > (s == 0 ? 0 : 1)) {
        return Broken(6, fmt::format("stream {}", s), "turns do not ascend from 0 one by one");
      }
      for (std::size_t p = 0; p < traffic_.streams[s].phases.size(); ++p) {
        const std::string place = fmt::format("stream {}, phase {}", s, p);
        Result<void> done = CheckPhase(traffic_.streams[s].phases[p], place);
        if (done) done = CountPhase(traffic_.streams[s].phases[p], place);
        if (!done) return done;
      }
    }
    ReportPeers();
    Result<void> done = ReportSums();
    if (done) done = CheckStaging();
    if (done) done = CheckCompleteness();
    return done;
  }

 private:
  static Result<void> CheckPhase(const TrafficPhase& phase, const std::string& place) {
    if (phase.repeats < 1 || phase.launches < 0 || phase.host_synchronizations < 0 ||
        phase.barriers < 0 || phase.chunk_bytes < 0) {
      return Broken(1, place, "a count is negative, or it is never run");
    }
    const TrafficFlow* last = nullptr;
    for (const TrafficFlow& flow : phase.flows) {
      if (flow.bytes < 1 || flow.operations < 1 || flow.hop < 0 || flow.from == flow.to) {
        return Broken(2, fmt::format("{}, rank {} to rank {}", place, flow.from, flow.to),
                      "a flow without bytes, operations or two ends");
      }
      if (flow.hop >= static_cast<std::int64_t>(phase.flows.size())) {
        return Broken(1, place, "a flow is on a hop beyond the last that its flows can form");
      }
      if (flow.hop > 0 && phase.chunk_bytes == 0) {
        return Broken(1, place, "it passes bytes on, in chunks of no size");
      }
      if (last != nullptr && std::pair(last->from, last->to) >= std::pair(flow.from, flow.to)) {
        return Broken(6, place, "flows do not ascend by their ends");
      }
      last = &flow;
    }
    for (std::size_t i = 0; i < phase.copies.size(); ++i) {
      const TrafficCopy& copy = phase.copies[i];
      if (copy.packed_bytes < 0 || copy.unpacked_bytes < 0 ||
          (i > 0 && phase.copies[i - 1].rank >= copy.rank)) {
        return Broken(6, place, "copies are negative or do not ascend by rank");
      }
    }
    return {};
  }

  Result<void> CountPhase(const TrafficPhase& phase, const std::string& place) {
    std::vector<CheckedSum> sends(plan_.job.ranks.size());
    std::vector<CheckedSum> receives(plan_.job.ranks.size());
    for (const TrafficFlow& flow : phase.flows) {
      const auto from = static_cast<std::size_t>(flow.from);
      const auto to = static_cast<std::size_t>(flow.to);
      operations_.AddProduct(flow.operations, phase.repeats);
      sends[from].AddProduct(flow.operations, 1);
      receives[to].AddProduct(flow.operations, 1);
      arriving_[to].AddProduct(flow.bytes, phase.repeats);
      const bool inside = plan_.job.ranks[from].domain == plan_.job.ranks[to].domain;
      (inside ? nvlink_ : network_).AddProduct(flow.bytes, phase.repeats);
      pairs_.insert(pairs_.end(), {std::pair(flow.from, flow.to), std::pair(flow.to, flow.from)});
    }
    for (const TrafficCopy& copy : phase.copies) {
      copied_.AddProduct(copy.packed_bytes, phase.repeats);
      copied_.AddProduct(copy.unpacked_bytes, phase.repeats);
    }
    // Pairs repeat from phase to phase: keep the list short.
    if (pairs_.size() > kept_pairs_ + kManyPairs) KeepDistinctPairs();
    for (std::size_t rank = 0; rank < sends.size(); ++rank) {
      sends[rank].AddProduct(receives[rank].value().value_or(0), 1);
      if (!sends[rank].value() || !receives[rank].value() || !arriving_[rank].value()) {
        return TooMany(place);
      }
      report_.ops_per_group_max = std::max(report_.ops_per_group_max, *sends[rank].value());
    }
    return {};
  }

  void KeepDistinctPairs() {
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    kept_pairs_ = pairs_.size();
  }

  void ReportPeers() {
    KeepDistinctPairs();
    std::vector<std::int64_t> peers(plan_.job.ranks.size());
    for (const auto& [rank, peer] : pairs_) ++peers[static_cast<std::size_t>(rank)];
    for (const std::int64_t count : peers) report_.peers_max = std::max(report_.peers_max, count);
  }

  Result<void> ReportSums() {
    if (!network_.value() || !nvlink_.value() || !operations_.value() || !copied_.value())
      return TooMany("traffic");
    report_.network_bytes = *network_.value();
    report_.nvlink_bytes = *nvlink_.value();
    return {};
  }

  // Reported, not limited.
  Result<void> CheckStaging() {
    for (std::size_t rank = 0; rank < traffic_.staging_bytes.size(); ++rank) {
      const std::int64_t bytes = traffic_.staging_bytes[rank];
      if (bytes < 0) return Broken(5, fmt::format("rank {}", rank), "its staging is negative");
      if (bytes > report_.staging_bytes_max) {
        report_.staging_bytes_max = bytes;
        report_.staging_rank = static_cast<RankIndex>(rank);
      }
    }
    return {};
  }

  // Who lacks a class receives what the traffic says of it, and what it leaves out is named.
  Result<void> CheckCompleteness() {
    std::vector<CheckedSum> lacking(plan_.job.ranks.size());
    CheckedSum left_out;
    for (std::size_t c = 0; c < plan_.demand.classes.size(); ++c) {
      const DemandClass& demand_class = plan_.demand.classes[c];
      const std::int64_t bytes = traffic_.class_bytes[c];
      if (bytes < 0 || bytes > demand_class.bytes) {
        return Broken(
            1, fmt::format("class {}", c),
            fmt::format("{} of its {} bytes are said to move", bytes, demand_class.bytes));
      }
      const std::span<const RankIndex> holders = plan_.demand.Holders(demand_class);
      for (const RankIndex rank : plan_.demand.Needers(demand_class)) {
        if (std::binary_search(holders.begin(), holders.end(), rank)) continue;
        lacking[static_cast<std::size_t>(rank)].AddProduct(bytes, 1);
        left_out.AddProduct(demand_class.bytes - bytes, 1);
      }
    }
    for (std::size_t rank = 0; rank < lacking.size(); ++rank) {
      const std::int64_t arriving = *arriving_[rank].value();
      if (!lacking[rank].value()) return TooMany(fmt::format("rank {}", rank));
      if (arriving < *lacking[rank].value()) {
        return Broken(1, fmt::format("rank {}", rank),
                      fmt::format("{} bytes arrive of the {} that it lacks", arriving,
                                  *lacking[rank].value()));
      }
    }
    CheckedSum named;
    for (const Omission& omission : traffic_.omissions) {
      if (omission.bytes < 0 || omission.tensors < 1 || omission.reason.empty()) {
        return Broken(1, "omissions", "one is of no tensor or bytes, or has no reason");
      }
      named.AddProduct(omission.bytes, 1);
    }
    if (!left_out.value() || !named.value()) return TooMany("omissions");
    if (*left_out.value() != *named.value()) {
      return Broken(1, "omissions",
                    fmt::format("{} bytes do not move, {} of them are named", *left_out.value(),
                                *named.value()));
    }
    return {};
  }

  static constexpr std::size_t kManyPairs = std::size_t{1} << 20;

  const Plan& plan_;
  const Traffic& traffic_;
  VerifierReport& report_;
  std::vector<CheckedSum> arriving_;  // bytes, per rank
  CheckedSum network_;
  CheckedSum nvlink_;
  CheckedSum copied_;
  CheckedSum operations_;
  std::vector<std::pair<RankIndex, RankIndex>> pairs_;  // rank and peer, both ways
  std::size_t kept_pairs_ = 0;
};

}  // namespace

Result<void> VerifyTraffic(const Plan& plan, VerifierReport& report) {
  return TrafficVerifier(plan, report).Run();
}

}  // namespace reshard::verification
