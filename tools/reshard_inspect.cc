// reshard-inspect: a plan in words, as a whole, by rank, by class, or against another plan.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/description.h"
#include "schedules/number_text.h"
#include "schedules/plan.h"
#include "schedules/plan_difference.h"
#include "simulator/connection_memory.h"
#include "simulator/constants.h"
#include "tools/command_line.h"
#include "tools/description_json.h"
#include "tools/json_output.h"
#include "tools/plan_loading.h"
#include "tools/plan_summary.h"
#include "tools/progress.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-inspect";
constexpr std::string_view kPurpose =
    "Says what a plan does: as a whole, what one rank does, how one class travels, or in what it "
    "differs from another plan.";
constexpr std::string_view kExample =
    "  reshard-inspect tiny-moe.reshard\n"
    "  reshard-inspect tiny-moe.reshard --rank 8";

struct Arguments {
  std::string plan;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> demand_class;
  std::string other;
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN", arguments.plan, "the plan");
  command_line.AddOption("--rank", "R", arguments.rank, "what rank R holds, sends and receives");
  command_line.AddOption("--class", "C", arguments.demand_class, "how the bytes of class C travel");
  command_line.AddOption("--diff", "OTHER", arguments.other, "in what the plan OTHER differs");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of text");
  const Result<bool> wanted = command_line.Parse(argc, argv);
  const int subjects = static_cast<int>(arguments.rank.has_value()) +
                       static_cast<int>(arguments.demand_class.has_value()) +
                       static_cast<int>(!arguments.other.empty());
  if (wanted && subjects > 1) {
    return UsageError("--rank, --class and --diff exclude each other", "give one of them");
  }
  return wanted;
}

// The error of an index that the plan does not have.
tl::unexpected<Error> NoSuch(const std::string& path, std::string_view what, std::int64_t index,
                             std::size_t count) {
  return InputError(path, fmt::format("there is no {} {}", what, index),
                    fmt::format("there are {}, numbered from 0", count));
}

Result<void> ShowRank(const Arguments& arguments, const Plan& plan) {
  const std::size_t count = plan.job.ranks.size();
  if (*arguments.rank >= static_cast<std::int64_t>(count)) {
    return NoSuch(arguments.plan, "rank", *arguments.rank, count);
  }
  const RankDescription rank = DescribeRank(plan, static_cast<RankIndex>(*arguments.rank));
  Print(arguments.json ? JsonReport(DescriptionFields(rank)) : Text(rank));
  return {};
}

Result<void> ShowClass(const Arguments& arguments, const Plan& plan) {
  const std::size_t count = plan.demand.classes.size();
  if (*arguments.demand_class >= static_cast<std::int64_t>(count)) {
    return NoSuch(arguments.plan, "class", *arguments.demand_class, count);
  }
  const ClassDescription demand_class =
      DescribeClass(plan, static_cast<ClassIndex>(*arguments.demand_class));
  Print(arguments.json ? JsonReport(DescriptionFields(demand_class, plan))
                       : Text(demand_class, plan));
  return {};
}

Result<void> ShowDifference(const Arguments& arguments, const Plan& plan) {
  const Result<LoadedPlan> other = LoadPlan(arguments.other);
  if (!other) return tl::unexpected(other.error());
  const std::vector<PlanDifference> differences = DiffPlans(plan, other->plan);
  Print(arguments.json ? JsonReport(DifferenceFields(differences)) : Text(differences));
  return {};
}

Result<void> ShowPlan(const Arguments& arguments, const LoadedPlan& loaded) {
  const Plan& plan = loaded.plan;
  const Result<PlanSummary> summary =
      Summarize(plan, loaded.verified, plan.certificate.predicted_seconds);
  if (!summary) return tl::unexpected(summary.error());
  const Result<Constants> constants = DefaultConstants();
  if (!constants) return tl::unexpected(constants.error());
  const ConnectionNeeds connections = MostConnectionMemory(plan, *constants);
  if (arguments.json) {
    JsonValue::Object fields;
    AppendFields(*summary, fields);
    fields.emplace_back("connectionBytesMax", connections.bytes);
    fields.emplace_back("fileBytes", loaded.file_bytes);
    fields.emplace_back("digest", summary->digest);
    fields.emplace_back("constantsDigest", plan.certificate.constants_digest);
    AppendFields(plan.notices, fields);
    Print(JsonReport(fields));
    return {};
  }
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"plan", fmt::format("{}, {}", arguments.plan, BytesText(loaded.file_bytes))});
  table.AddRow({"planner", plan.job.options.planner});
  AppendRows(*summary, plan.job.options, table);
  table.AddRow({"connections", ConnectionText(connections)});
  AppendRows(plan, table);
  table.AddRow({"digest", summary->digest});
  Print(table.Text() + "\n" + ClassTable(plan) + "\n" + RankTable(plan));
  return {};
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};

  Progress progress;
  progress.Begin("verifying");
  const Result<LoadedPlan> loaded = LoadPlan(arguments.plan);
  if (!loaded) return tl::unexpected(loaded.error());
  progress.End();
  if (arguments.rank) return ShowRank(arguments, loaded->plan);
  if (arguments.demand_class) return ShowClass(arguments, loaded->plan);
  if (!arguments.other.empty()) return ShowDifference(arguments, loaded->plan);
  return ShowPlan(arguments, *loaded);
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
