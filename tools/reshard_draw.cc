// reshard-draw: a plan as a picture, coloured by what the simulator says is busy.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/drawing/cluster_view.h"
#include "schedules/number_text.h"
#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/simulate.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/output_file.h"
#include "tools/plan_loading.h"
#include "tools/progress.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-draw";
constexpr std::string_view kPurpose =
    "Draws a plan: NVLink domains, the bytes between them, and in red what binds.";
constexpr std::string_view kExample = "  reshard-draw tiny-moe.reshard -o tiny-moe.svg";

struct Arguments {
  std::string plan;
  std::string output;
  std::string view = "cluster";
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("PLAN", arguments.plan, "the plan");
  command_line.AddRequiredOption("-o,--output", "FILE", arguments.output,
                                 "the picture to write: FILE.svg or FILE.dot");
  command_line.AddChoice("--view", "VIEW", {"cluster"}, arguments.view, "what to draw (cluster)");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the table");
  return command_line.Parse(argc, argv);
}

Result<DrawingFormat> FormatOf(const std::string& output) {
  if (output.ends_with(".svg")) return DrawingFormat::kSvg;
  if (output.ends_with(".dot")) return DrawingFormat::kDot;
  return UsageError("-o " + output + ": expected a name that ends with .svg or .dot");
}

Result<std::string> Draw(const LoadedPlan& loaded, const std::string& path, DrawingFormat format) {
  const Result<Cluster> cluster = EmbeddedCluster(loaded.plan, path);
  if (!cluster) return tl::unexpected(cluster.error());
  const Result<Constants> constants = DefaultConstants();
  if (!constants) return tl::unexpected(constants.error());
  const Result<SimulationResult> simulated = Simulate(loaded.plan, *cluster, *constants);
  if (!simulated) return tl::unexpected(simulated.error());
  std::vector<ResourceBusy> utilisation;
  utilisation.reserve(simulated->resources.size());
  for (const ResourceUse& use : simulated->resources) utilisation.push_back({use.name, use.busy});
  return DrawClusterView(loaded.plan, *cluster, utilisation, format);
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
  const Result<DrawingFormat> format = FormatOf(arguments.output);
  if (!format) return tl::unexpected(format.error());
  if (Result<void> output = CheckOutputPath(arguments.output, arguments.plan); !output) {
    return output;
  }

  Progress progress;
  progress.Begin("verifying");
  const Result<LoadedPlan> loaded = LoadPlan(arguments.plan);
  if (!loaded) return tl::unexpected(loaded.error());
  progress.Begin("drawing");
  const Result<std::string> drawing = Draw(*loaded, arguments.plan, *format);
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
