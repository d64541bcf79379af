#include "simulator/max_min.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace reshard {
namespace {

constexpr double kRising = -1;  // rate of a flow that is not frozen yet

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

double MaxMinSolver::Fill::FairRate() const { return std::max(left, 0.0) / share; }

void MaxMinSolver::ListUsers(const MaxMinProblem& problem) {
  fills_.clear();
  for (const double free : problem.free) fills_.push_back({.left = free});
  for (const ResourceShare& use : problem.shares) {
    Fill& fill = fills_[At(use.resource)];
    fill.share += use.share;
    ++fill.rising;
  }
  std::size_t next = 0;
  for (Fill& fill : fills_) {
    fill.first_user = next;
    next += fill.rising;
  }
  users_.resize(next);
  for (std::size_t flow = 0; flow < problem.flows.size(); ++flow) {
    for (const ResourceShare& use : problem.Shares(flow)) {
      Fill& fill = fills_[At(use.resource)];
      users_[fill.first_user + fill.users] = static_cast<std::int32_t>(flow);
      ++fill.users;
    }
  }
}

void MaxMinSolver::ListCapped(const MaxMinProblem& problem) {
  capped_.clear();
  next_capped_ = 0;
  for (std::size_t flow = 0; flow < problem.flows.size(); ++flow) {
    if (problem.flows[flow].cap != kUncapped) capped_.push_back(static_cast<std::int32_t>(flow));
  }
  const auto comes_before = [&](std::int32_t a, std::int32_t b) {
    return std::pair(problem.flows[At(a)].cap, a) < std::pair(problem.flows[At(b)].cap, b);
  };
  // Most often all have one cap.
  if (!std::is_sorted(capped_.begin(), capped_.end(), comes_before)) {
    std::sort(capped_.begin(), capped_.end(), comes_before);
  }
}

void MaxMinSolver::Freeze(const MaxMinProblem& problem, std::size_t flow, double rate,
                          ResourceIndex bottleneck) {
  rates_[flow] = rate;
  bottlenecks_[flow] = bottleneck;
  --rising_;
  for (const ResourceShare& use : problem.Shares(flow)) {
    Fill& fill = fills_[At(use.resource)];
    fill.left -= use.share * rate;
    fill.share -= use.share;
    fill.fastest = std::max(fill.fastest, rate);
    --fill.rising;
  }
}

// Freezes the rising flows whose cap is at most `limit`, at their cap.
void MaxMinSolver::FreezeCapped(const MaxMinProblem& problem, double limit) {
  for (; next_capped_ < capped_.size(); ++next_capped_) {
    const std::size_t flow = At(capped_[next_capped_]);
    if (rates_[flow] != kRising) continue;
    if (problem.flows[flow].cap > limit) return;
    Freeze(problem, flow, problem.flows[flow].cap, kNoBottleneck);
  }
}

void MaxMinSolver::DropFirst() {
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) SinkFirst();
}

// Restores the heap's order after its first candidate has changed.
void MaxMinSolver::SinkFirst() {
  const Candidate sinking = heap_.front();
  std::size_t at = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
    if (!(heap_[child] < sinking)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = sinking;
}

void MaxMinSolver::Solve(const MaxMinProblem& problem) {
  ListUsers(problem);
  ListCapped(problem);
  rates_.assign(problem.flows.size(), kRising);
  bottlenecks_.assign(problem.flows.size(), kNoBottleneck);
  rising_ = problem.flows.size();

  heap_.clear();
  for (std::size_t resource = 0; resource < fills_.size(); ++resource) {
    if (fills_[resource].rising == 0) continue;
    heap_.emplace_back(fills_[resource].FairRate(), static_cast<ResourceIndex>(resource));
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  double level = 0;  // rate all rising flows have reached; guards against rounding going back
  while (!heap_.empty() && rising_ > 0) {
    const ResourceIndex resource = heap_.front().second;
    Fill& fill = fills_[At(resource)];
    if (fill.rising == 0) {
      DropFirst();
      continue;
    }
    const double fair = fill.FairRate();
    if (fair > heap_.front().first) {  // flows frozen since have left it more: look again later
      heap_.front().first = fair;
      SinkFirst();
      continue;
    }
    const std::size_t capped_before = next_capped_;
    FreezeCapped(problem, fair);
    if (next_capped_ != capped_before) continue;
    DropFirst();
    level = std::max(level, fair);
    fill.held_rate = level;
    for (const std::int32_t flow : Users(fill)) {
      if (rates_[At(flow)] == kRising) Freeze(problem, At(flow), level, resource);
    }
  }
  FreezeCapped(problem, kUncapped);
  for (double& rate : rates_) {  // of those that use nothing
    if (rate == kRising) rate = kUncapped;
  }
}

std::vector<double> MaxMinRates(const FlowTable& table, std::span<const double> capacities) {
  MaxMinProblem problem;
  problem.free.assign(capacities.begin(), capacities.end());
  for (std::size_t flow = 0; flow < table.size(); ++flow) {
    const auto index = static_cast<FlowIndex>(flow);
    problem.flows.push_back({table.Cap(index), problem.shares.size()});
    const std::span<const ResourceShare> shares = table.Shares(index);
    problem.shares.insert(problem.shares.end(), shares.begin(), shares.end());
  }
  MaxMinSolver solver;
  solver.Solve(problem);
  std::vector<double> rates;
  for (std::size_t flow = 0; flow < table.size(); ++flow) rates.push_back(solver.Rate(flow));
  return rates;
}

}  // namespace reshard
