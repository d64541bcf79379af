#include "tools/planner_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "compiler/planner.h"
#include "foundation/nearest_name.h"
#include "schedules/carried_bytes.h"
#include "schedules/drawing/domain_traffic.h"
#include "schedules/number_text.h"
#include "simulator/cost_model.h"
#include "simulator/domain_load.h"
#include "simulator/simulate.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/plan_summary.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

// Which NICs serve a rank of a side.
std::vector<bool> NicsOfSide(const Plan& plan, const Cluster& cluster, LayoutIndex Rank::*layout) {
  std::vector<Rank> ranks;
  std::ranges::copy_if(plan.job.ranks, std::back_inserter(ranks),
                       [&](const Rank& rank) { return rank.*layout != kNoLayout; });
  std::vector<bool> serves(cluster.nics.size());
  for (const NicIndex nic : NicsOfRanks(ranks, cluster)) {
    serves[static_cast<std::size_t>(nic)] = true;
  }
  return serves;
}

// Busiest NIC over mean, one way; with the busiest one's bytes, to choose a way by.
struct NicSkew {
  std::int64_t busiest = 0;
  double over_mean = 0;
};

NicSkew SkewOf(const std::vector<ResourceUse>& uses, bool is_out,
               const std::vector<bool>& of_side) {
  NicSkew skew;
  std::int64_t nics = 0;
  double sum = 0;
  for (const ResourceUse& use : uses) {
    const std::optional<NicName> name = ParseNicName(use.name);
    if (!name || name->is_out != is_out || !of_side[static_cast<std::size_t>(name->nic)]) continue;
    ++nics;
    sum += static_cast<double>(use.bytes);
    skew.busiest = std::max(skew.busiest, use.bytes);
  }
  if (sum > 0) {
    skew.over_mean = static_cast<double>(skew.busiest) * static_cast<double>(nics) / sum;
  }
  return skew;
}

std::optional<double> BusiestNicOverMean(const Plan& plan, const Cluster& cluster,
                                         const std::vector<ResourceUse>& uses) {
  const NicSkew out =
      SkewOf(uses, /*is_out=*/true, NicsOfSide(plan, cluster, &Rank::source_layout));
  const NicSkew in =
      SkewOf(uses, /*is_out=*/false, NicsOfSide(plan, cluster, &Rank::destination_layout));
  const NicSkew& busier = out.busiest > in.busiest ? out : in;
  if (busier.busiest == 0) return std::nullopt;
  return busier.over_mean;
}

// Sends and receives of the rank that has most of them.
std::int64_t MostOperations(const Plan& plan) {
  std::vector<std::int64_t> operations(plan.job.ranks.size());
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    operations[static_cast<std::size_t>(carried.from)] += carried.operations;
    operations[static_cast<std::size_t>(carried.to)] += carried.operations;
  }
  return operations.empty() ? 0 : std::ranges::max(operations);
}

Result<PlannerOutcome> OutcomeOf(const Compiled& compiled, const PlanSummary& summary,
                                 const Cluster& cluster, const Constants& constants) {
  const Plan& plan = compiled.plan;
  const Result<SimulationResult> simulated = Simulate(plan, cluster, constants);
  if (!simulated) return tl::unexpected(simulated.error());
  PlannerOutcome outcome;
  outcome.planner = plan.job.options.planner;
  outcome.predicted_seconds = simulated->seconds;
  outcome.network_bytes = compiled.report.verified.network_bytes;
  outcome.busiest_nic_over_mean = BusiestNicOverMean(plan, cluster, simulated->resources);
  outcome.rounds = plan.round_count;
  outcome.staging_bytes_max = compiled.report.verified.staging_bytes_max;
  if (!plan.traffic) return outcome;
  outcome.operations_max = MostOperations(plan);
  outcome.omissions = plan.traffic->omissions;
  for (const Omission& omission : outcome.omissions) {
    outcome.omitted_tensors.push_back(
        plan.job.tensors[static_cast<std::size_t>(omission.tensor)].name);
  }
  if (summary.bytes > 0) {
    outcome.coverage =
        1 - static_cast<double>(OmittedBytes(*plan.traffic)) / static_cast<double>(summary.bytes);
  }
  return outcome;
}

std::string OverBoundText(const PlannerComparison& comparison, const PlannerOutcome& outcome) {
  if (comparison.lower_bound_seconds <= 0) return "-";
  return fmt::format("{:.2f}", outcome.predicted_seconds / comparison.lower_bound_seconds);
}

}  // namespace

Result<std::vector<std::string>> ParsePlannerNames(const std::string& text) {
  const std::vector<std::string_view> known = PlannerNames();
  if (text == "all") return std::vector<std::string>(known.begin(), known.end());
  std::vector<std::string> names;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    if (name == "all") {
      return UsageError("--compare: 'all' stands beside other names", "give it alone");
    }
    if (std::ranges::find(known, name) == known.end()) {
      std::vector<std::string_view> candidates = known;
      candidates.emplace_back("all");
      return UsageError(fmt::format("--compare: there is no planner '{}'", name),
                        SuggestName(name, candidates));
    }
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    rest.remove_prefix(comma + 1);
  }
}

Result<PlannerComparison> ComparePlanners(const Job& job, const std::vector<std::string>& planners,
                                          const Constants& constants, Progress& progress,
                                          std::optional<Compiled>* own) {
  PlannerComparison comparison;
  const SimulatedCostModel cost_model(job.cluster, constants);
  bool known = false;  // the demand and its bound, which are the same for all
  std::optional<Error> first_error;
  for (const std::string& planner : planners) {
    progress.Begin("planner " + planner);
    Job asked = job;
    asked.records.options.planner = planner;
    Result<Compiled> compiled = Compile(asked, cost_model);
    if (!compiled) {
      if (!first_error) first_error = compiled.error();
      comparison.outcomes.emplace_back();
      comparison.outcomes.back().planner = planner;
      comparison.outcomes.back().refusal = ToString(compiled.error());
      continue;
    }
    const Result<PlanSummary> summary = Summarize(compiled->plan, compiled->report.verified,
                                                  compiled->plan.certificate.predicted_seconds);
    if (!summary) return tl::unexpected(summary.error());
    Result<PlannerOutcome> outcome = OutcomeOf(*compiled, *summary, job.cluster, constants);
    if (!outcome) return tl::unexpected(outcome.error());
    comparison.outcomes.push_back(*std::move(outcome));
    if (own != nullptr && planner == job.records.options.planner) *own = *std::move(compiled);
    if (known) continue;
    known = true;
    comparison.bytes = summary->bytes;
    comparison.lower_bound_seconds = summary->lower_bound_seconds;
    comparison.bound_by = summary->bound_by;
  }
  if (!known && first_error) return tl::unexpected(*first_error);
  return comparison;
}

TextTable ComparisonTable(const PlannerComparison& comparison) {
  TextTable table({{"planner", Alignment::kLeft},
                   {"predicted", Alignment::kRight},
                   {"over bound", Alignment::kRight},
                   {"over NICs", Alignment::kRight},
                   {"busiest NIC / mean", Alignment::kRight},
                   {"rounds", Alignment::kRight},
                   {"operations a rank", Alignment::kRight},
                   {"staging a rank", Alignment::kRight},
                   {"coverage", Alignment::kRight}});
  for (const PlannerOutcome& outcome : comparison.outcomes) {
    if (!outcome.refusal.empty()) {
      table.AddRow({outcome.planner, "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const bool simulated_only = outcome.rounds == 0 && outcome.operations_max > 0;
    table.AddRow({outcome.planner, SecondsText(outcome.predicted_seconds),
                  OverBoundText(comparison, outcome), BytesText(outcome.network_bytes),
                  outcome.busiest_nic_over_mean
                      ? fmt::format("{:.2f}", *outcome.busiest_nic_over_mean)
                      : "-",
                  simulated_only ? "-" : CountText(outcome.rounds),
                  simulated_only ? CountText(outcome.operations_max) : "-",
                  MemoryText(outcome.staging_bytes_max), PercentText(outcome.coverage)});
  }
  return table;
}

std::vector<std::string> ComparisonNotes(const PlannerComparison& comparison) {
  std::vector<std::string> notes;
  for (const PlannerOutcome& outcome : comparison.outcomes) {
    if (!outcome.refusal.empty()) {
      notes.push_back(fmt::format("{} makes no plan: {}", outcome.planner, outcome.refusal));
      continue;
    }
    for (std::size_t i = 0; i < outcome.omissions.size(); ++i) {
      const Omission& omission = outcome.omissions[i];
      notes.push_back(fmt::format(
          "{} leaves out {} in {} ({}{}): {}", outcome.planner, BytesText(omission.bytes),
          CountedText(omission.tensors, "tensor", "tensors"), outcome.omitted_tensors[i],
          omission.tensors > 1 ? ", .." : "", omission.reason));
    }
  }
  return notes;
}

std::string ComparisonText(const PlannerComparison& comparison) {
  std::string below;
  for (const std::string& note : ComparisonNotes(comparison)) below += note + "\n";
  return fmt::format("lower bound  {}: {}\n\n{}{}{}", SecondsText(comparison.lower_bound_seconds),
                     comparison.bound_by, ComparisonTable(comparison).Text(),
                     below.empty() ? "" : "\n", below);
}

JsonValue::Object ComparisonFields(const PlannerComparison& comparison) {
  JsonValue::Array planners;
  for (const PlannerOutcome& outcome : comparison.outcomes) {
    JsonValue::Object fields{{"planner", outcome.planner}};
    if (!outcome.refusal.empty()) {
      fields.emplace_back("refusal", outcome.refusal);
      planners.emplace_back(std::move(fields));
      continue;
    }
    JsonValue::Array omissions;
    for (std::size_t i = 0; i < outcome.omissions.size(); ++i) {
      const Omission& omission = outcome.omissions[i];
      omissions.emplace_back(JsonValue::Object{{"reason", omission.reason},
                                               {"bytes", omission.bytes},
                                               {"tensors", omission.tensors},
                                               {"firstTensor", outcome.omitted_tensors[i]}});
    }
    fields.emplace_back("predictedSeconds", outcome.predicted_seconds);
    fields.emplace_back("overBound",
                        comparison.lower_bound_seconds > 0
                            ? JsonValue(outcome.predicted_seconds / comparison.lower_bound_seconds)
                            : JsonValue());
    fields.emplace_back("networkBytes", outcome.network_bytes);
    fields.emplace_back("busiestNicOverMean", outcome.busiest_nic_over_mean
                                                  ? JsonValue(*outcome.busiest_nic_over_mean)
                                                  : JsonValue());
    fields.emplace_back("rounds", outcome.rounds);
    fields.emplace_back("operationsMax", outcome.operations_max);
    fields.emplace_back("stagingBytesMax", outcome.staging_bytes_max);
    fields.emplace_back("coverage", outcome.coverage);
    fields.emplace_back("omissions", std::move(omissions));
    planners.emplace_back(std::move(fields));
  }
  JsonValue::Object fields;
  fields.emplace_back("bytes", comparison.bytes);
  fields.emplace_back("lowerBoundSeconds", comparison.lower_bound_seconds);
  fields.emplace_back("boundBy", comparison.bound_by);
  fields.emplace_back("planners", std::move(planners));
  return fields;
}

}  // namespace reshard
