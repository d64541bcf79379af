// reshard-draw: a plan as a picture, coloured by what the simulator says is busy.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/drawing/class_view.h"
#include "schedules/drawing/cluster_view.h"
#include "schedules/drawing/rounds_view.h"
#include "schedules/drawing/timeline_view.h"
#include "schedules/number_text.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/record_replay.h"
#include "simulator/simulate.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/output_file.h"
#include "tools/plan_loading.h"
#include "tools/progress.h"
#include "tools/resource_busy.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-draw";
constexpr std::string_view kPurpose =
    "Draws a plan: its cluster, a class, its rounds or its timeline; what binds is red.";
constexpr std::string_view kExample =
    "  reshard-draw tiny-moe.reshard -o tiny-moe.svg\n"
    "  reshard-draw tiny-moe.reshard -o class-7.svg --view class --class 7";

struct Arguments {
  std::string plan;
  std::string output;
  std::string view = "cluster";
  std::optional<std::int64_t> demand_class;
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN", arguments.plan, "the plan");
  command_line.AddRequiredOption("-o,--output", "FILE", arguments.output,
                                 "the picture to write: FILE.svg or FILE.dot");
  command_line.AddChoice(
      "--view", "VIEW", {"cluster", "class", "rounds", "timeline"}, arguments.view,
      "domains, the way of a class, what rounds carry, who does what when (cluster)");
  command_line.AddOption("--class", "C", arguments.demand_class, "the class of --view class");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the table");
  Result<bool> wanted = command_line.Parse(argc, argv);
  if (!wanted || !*wanted) return wanted;
  const bool is_class = arguments.view == "class";
  if (is_class && !arguments.demand_class) {
    return UsageError("--view class: says not which class", "add --class C");
  }
  if (!is_class && arguments.demand_class) {
    return UsageError("--class: is of --view class only", "add --view class, or leave it out");
  }
  return wanted;
}

Result<DrawingFormat> FormatOf(const Arguments& arguments) {
  const bool is_graph = arguments.view == "cluster" || arguments.view == "class";
  if (arguments.output.ends_with(".svg")) return DrawingFormat::kSvg;
  if (is_graph && arguments.output.ends_with(".dot")) return DrawingFormat::kDot;
  return UsageError(fmt::format("-o {}: expected a name that ends with .svg{}", arguments.output,
                                is_graph ? " or .dot" : ""));
}

Result<std::string> DrawOneClass(const Plan& plan, std::int64_t demand_class,
                                 DrawingFormat format) {
  const auto count = static_cast<std::int64_t>(plan.demand.classes.size());
  if (demand_class >= count) {
    return InputError(
        "--class", fmt::format("there is no class {}", demand_class),
        count == 0 ? "the plan moves nothing" : fmt::format("name one of 0 to {}", count - 1));
  }
  return DrawClassView(plan, static_cast<ClassIndex>(demand_class), format);
}

Result<std::string> DrawCluster(const Plan& plan, const Cluster& cluster,
                                const Constants& constants, DrawingFormat format) {
  const Result<SimulationResult> simulated = Simulate(plan, cluster, constants);
  if (!simulated) return tl::unexpected(simulated.error());
  return DrawClusterView(plan, cluster, BusyResources(*simulated), format);
}

Result<std::string> Draw(const LoadedPlan& loaded, const Arguments& arguments,
                         DrawingFormat format) {
  if (arguments.demand_class) return DrawOneClass(loaded.plan, *arguments.demand_class, format);
  const Result<Cluster> cluster = EmbeddedCluster(loaded.plan, arguments.plan);
  if (!cluster) return tl::unexpected(cluster.error());
  const Result<Constants> constants = DefaultConstants();
  if (!constants) return tl::unexpected(constants.error());
  if (arguments.view == "cluster") return DrawCluster(loaded.plan, *cluster, *constants, format);
  const Result<ReplayRecord> record = RecordReplay(loaded.plan, *cluster, *constants);
  if (!record) return tl::unexpected(record.error());
  return arguments.view == "rounds" ? DrawRoundsView(loaded.plan, *cluster, *record)
                                    : DrawTimelineView(loaded.plan, *cluster, *record);
}

void PrintResult(const Arguments& arguments, std::int64_t bytes) {
  if (arguments.json) {
    Print(JsonReport(
        {{"drawing", arguments.output}, {"view", arguments.view}, {"drawingBytes", bytes}}));
    return;
  }
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  table.AddRow({"drawing", fmt::format("{}, {}", arguments.output, BytesText(bytes))});
  table.AddRow({"view", arguments.view});
  Print(table.Text());
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};
  const Result<DrawingFormat> format = FormatOf(arguments);
  if (!format) return tl::unexpected(format.error());
  if (Result<void> output = CheckOutputPath(arguments.output, arguments.plan); !output) {
    return output;
  }

  Progress progress;
  progress.Begin("verifying");
  const Result<LoadedPlan> loaded = LoadPlan(arguments.plan);
  if (!loaded) return tl::unexpected(loaded.error());
  progress.Begin("drawing");
  const Result<std::string> drawing = Draw(*loaded, arguments, *format);
  if (!drawing) return tl::unexpected(drawing.error());
  const Result<std::int64_t> bytes = WriteWholeFile(arguments.output, *drawing);
  if (!bytes) return tl::unexpected(bytes.error());
  progress.End();
  PrintResult(arguments, *bytes);
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
