// reshard-layout describe: what each side of a job holds, in DTensor's words.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/job/job_inputs.h"
#include "compiler/layout/index_list.h"
#include "compiler/layout/layout_description.h"
#include "foundation/error.h"
#include "schedules/number_text.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/layout_report.h"
#include "tools/name_ranges.h"
#include "tools/text_table.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-layout";
constexpr std::string_view kPurpose =
    "Describes the layouts of a job: per parameter its mesh, placement, local shapes and bytes, "
    "and "
    "what is not understood.";
constexpr std::string_view kExample =
    "  reshard-layout describe schedules/reference/tiny-moe.job.json\n"
    "  reshard-layout describe job.json --side destination --json";

struct Arguments {
  std::string verb;
  std::string job;
  std::string side;
  bool json = false;
};

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("describe", arguments.verb, "what to do");
  command_line.AddPositional("JOB", arguments.job, "the job (JSON)");
  command_line.AddChoice("--side", "NAME", {"source", "destination"}, arguments.side,
                         "this side alone");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the tables");
  const Result<bool> wanted = command_line.Parse(argc, argv);
  if (wanted && *wanted && arguments.verb != "describe") {
    return UsageError("unknown command '" + arguments.verb + "'", "say describe");
  }
  return wanted;
}

struct DescribedGroup {
  const SideGroup* group = nullptr;
  std::vector<NamedMesh> meshes;
  std::vector<ParameterRow> rows;
  std::vector<std::string> not_held;
};

Result<DescribedGroup> Describe(const Model& model, const SideGroup& group) {
  DescribedGroup described;
  described.group = &group;
  const JsonDocument fields{group.place, group.layout_fields};
  Result<std::vector<NamedMesh>> meshes =
      MeshesOf(group.kind, JsonCursor(fields),
               static_cast<std::int64_t>(group.layout.layout_of_rank.size()));
  if (!meshes) return tl::unexpected(meshes.error());
  described.meshes = *std::move(meshes);
  const auto parameters = At(group.place, DescribeParameters(group.layout, described.meshes));
  if (!parameters) return tl::unexpected(parameters.error());
  Result<std::vector<ParameterRow>> rows = At(group.place, JoinAlike(*parameters));
  if (!rows) return tl::unexpected(rows.error());
  described.rows = *std::move(rows);
  described.not_held = TensorsNotHeld(model, group.layout);
  return described;
}

std::string GroupText(const Side& side, const DescribedGroup& described) {
  const SideGroup& group = *described.group;
  std::string text =
      fmt::format("{}: {}, GPUs {}\n", side.name, group.kind, FormatIndexList(group.gpus));
  for (const NamedMesh& mesh : described.meshes) text += "mesh " + MeshText(mesh) + "\n";
  TextTable table({{"parameter", Alignment::kLeft},
                   {"dtype", Alignment::kLeft},
                   {"placement", Alignment::kLeft},
                   {"local shape", Alignment::kLeft},
                   {"ranks", Alignment::kRight},
                   {"bytes of all", Alignment::kRight},
                   {"padding", Alignment::kRight}});
  std::int64_t unexplained = 0;
  for (const ParameterRow& row : described.rows) {
    table.AddRow({row.name, std::string(Name(row.one.dtype)),
                  PlacementText(row.one, described.meshes), ShapesText(row.one),
                  CountText(row.one.ranks), BytesText(row.bytes),
                  row.padding_bytes == 0 ? "" : BytesText(row.padding_bytes)});
    if (!row.one.mesh) unexplained += row.count;
  }
  text += table.Text();
  if (unexplained > 0) {
    text += fmt::format("parameters that no mesh explains: {}\n", CountText(unexplained));
  }
  for (const std::string& name : group.layout.recompute) {
    text += "recompute after a refit: " + name + "\n";
  }
  for (const std::string& names : JoinNumberedNames(described.not_held)) {
    text += "not held: " + names + "\n";
  }
  return text;
}

JsonValue GroupJson(const DescribedGroup& described) {
  const SideGroup& group = *described.group;
  JsonValue::Object object;
  object.emplace_back("gpus", FormatIndexList(group.gpus));
  object.emplace_back("layout", group.kind);
  object.emplace_back("meshes", MeshesJson(described.meshes));
  object.emplace_back("parameters", ParametersJson(described.rows, described.meshes));
  object.emplace_back("recompute", JsonList(group.layout.recompute));
  object.emplace_back("notHeld", JsonList(JoinNumberedNames(described.not_held)));
  return object;
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};
  const Result<JobInputs> inputs = ReadJobInputs(arguments.job);
  if (!inputs) return tl::unexpected(inputs.error());
  std::string text;
  JsonValue::Object json;
  for (const Side* side : {&inputs->source, &inputs->destination}) {
    if (!arguments.side.empty() && arguments.side != side->name) continue;
    JsonValue::Array groups;
    for (const SideGroup& group : side->groups) {
      const Result<DescribedGroup> described =
          Describe(group.formed ? group.formed->model : inputs->model, group);
      if (!described) return tl::unexpected(described.error());
      if (arguments.json) groups.emplace_back(GroupJson(*described));
      if (!arguments.json) text += (text.empty() ? "" : "\n") + GroupText(*side, *described);
    }
    json.emplace_back(side->name, std::move(groups));
  }
  Print(arguments.json ? JsonReport(json) : text);
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
