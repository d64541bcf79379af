// reshard-topology import: cluster.json from the topology files of other tools.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "foundation/text_file.h"
#include "tools/amounts.h"
#include "tools/command_line.h"
#include "tools/json_output.h"
#include "tools/nic_of_option.h"
#include "tools/output_file.h"
#include "tools/text_table.h"
#include "topology/cluster_writer.h"
#include "topology/importers/import.h"

namespace reshard {
namespace {

constexpr std::string_view kProgram = "reshard-topology";
constexpr std::string_view kPurpose =
    "Makes cluster.json from topology files of other tools, and says what it assumed. Files are "
    "told "
    "by content: NCCL topology XML, nvidia-smi topo -m, SLURM's topology.conf or topology.yaml.";
constexpr std::string_view kExample =
    "  reshard-topology import node.xml topology.conf -o cluster.json\n"
    "  reshard-topology import topo-m.txt --nodes 16 --nic-GBps 48 -o cluster.json";

struct Arguments {
  std::string verb;
  std::vector<std::string> files;
  std::string output;
  std::string nic_of;
  bool json = false;
  ImportOptions options;
};

Result<void> CheckPositive(std::string_view name, const std::optional<std::int64_t>& value) {
  if (!value || *value > 0) return {};
  return UsageError(std::string(name) + " 0: expected at least 1");
}

Result<bool> ReadArguments(int argc, char** argv, Arguments& arguments) {
  CommandLine command_line(kProgram, kPurpose, kExample);
  command_line.AddPositional("import", arguments.verb, "what to do");
  command_line.AddPositionals("FILE", arguments.files, "topology files, of nodes and of SLURM");
  command_line.AddRequiredOption("-o,--output", "CLUSTER", arguments.output,
                                 "the cluster.json to write");
  command_line.AddOption("--nodes", "N", arguments.options.nodes, "how many nodes there are");
  command_line.AddOption("--domain-nodes", "M", arguments.options.domain_nodes,
                         "how many nodes NVLink joins to one domain");
  command_line.AddOption("--nic-GBps", "RATE", arguments.options.nic_gbps,
                         "what a NIC reaches each way, GB/s");
  command_line.AddOption("--nic-of", "GPU=NIC,..", arguments.nic_of,
                         "the NICs of GPUs of a node, by name or number");
  command_line.AddOption("--type", "NAME", arguments.options.type,
                         "the built-in type whose GPUs these are");
  command_line.AddFlag("--json", arguments.json, "print one JSON object instead of the tables");
  const Result<bool> wanted = command_line.Parse(argc, argv);
  if (!wanted || !*wanted) return wanted;

  if (arguments.verb != "import") {
    return UsageError("unknown command '" + arguments.verb + "'", "say import");
  }
  if (Result<void> valid = CheckPositive("--nodes", arguments.options.nodes); !valid) {
    return tl::unexpected(valid.error());
  }
  if (Result<void> valid = CheckPositive("--domain-nodes", arguments.options.domain_nodes);
      !valid) {
    return tl::unexpected(valid.error());
  }
  Result<std::vector<NicOfGpu>> nic_of = ParseNicOf(arguments.nic_of);
  if (!nic_of) return tl::unexpected(nic_of.error());
  arguments.options.nic_of = *std::move(nic_of);
  return true;
}

Result<std::vector<TopologyFile>> ReadFiles(const std::vector<std::string>& paths) {
  std::vector<TopologyFile> files;
  for (const std::string& path : paths) {
    Result<std::string> text = ReadTextFile(path, kLargestTopologyFile);
    if (!text) return tl::unexpected(text.error());
    files.push_back({path, *std::move(text)});
  }
  return files;
}

std::int64_t RailCount(const Cluster& cluster) {
  std::set<std::int32_t> rails;
  for (const Nic& nic : cluster.nics) rails.insert(nic.rail);
  return static_cast<std::int64_t>(rails.size());
}

// The NICs that serve `gpu` of a node.
std::vector<const ShapedNic*> NicsOf(const NodeShape& shape, std::size_t gpu) {
  std::vector<const ShapedNic*> nics;
  for (const ShapedNic& nic : shape.nics) {
    if (std::find(nic.gpus.begin(), nic.gpus.end(), static_cast<std::int32_t>(gpu)) !=
        nic.gpus.end()) {
      nics.push_back(&nic);
    }
  }
  return nics;
}

JsonValue NodeJson(const ImportedNode& node) {
  JsonValue::Array gpus;
  for (std::size_t gpu = 0; gpu < node.description.gpus.size(); ++gpu) {
    JsonValue::Array nics;
    for (const ShapedNic* nic : NicsOf(node.shape, gpu)) {
      nics.emplace_back(
          JsonValue::Object{{"name", nic->name}, {"rail", nic->rail}, {"GBps", nic->gbps}});
    }
    gpus.emplace_back(JsonValue::Object{
        {"gpu", gpu}, {"nvlinkGBps", node.shape.gpu_nvlink_gbps[gpu]}, {"nics", std::move(nics)}});
  }
  return JsonValue::Object{
      {"source", node.description.source}, {"gpuKind", node.kind}, {"gpus", std::move(gpus)}};
}

void PrintJson(const Arguments& arguments, const ImportedCluster& imported,
               std::int64_t written_bytes) {
  const Cluster& cluster = imported.cluster;
  JsonValue::Object fields;
  fields.emplace_back("cluster", arguments.output);
  fields.emplace_back("clusterBytes", written_bytes);
  fields.emplace_back("domains", cluster.domains.size());
  fields.emplace_back("nodes", cluster.node_count);
  fields.emplace_back("gpus", cluster.gpus.size());
  fields.emplace_back("nics", cluster.nics.size());
  fields.emplace_back("rails", RailCount(cluster));
  fields.emplace_back("switches", cluster.fabric.switches.size());
  fields.emplace_back("overrides", imported.description.overrides.size());
  std::vector<std::string> types;
  for (const DomainType& type : imported.description.types) types.push_back(type.name);
  fields.emplace_back("types", JsonList(types));
  JsonValue::Array nodes;
  for (const ImportedNode& node : imported.nodes) nodes.push_back(NodeJson(node));
  fields.emplace_back("describedNodes", std::move(nodes));
  fields.emplace_back("assumptions", JsonList(imported.assumptions));
  Print(JsonReport(fields));
}

// "4 of gb200-nvl72 with 72 GPUs", a line for each run of equal domains.
std::vector<std::string> DomainLines(const ClusterDescription& description) {
  std::vector<std::pair<DomainEntry, std::int64_t>> runs;
  for (const DomainEntry& entry : description.entries) {
    if (runs.empty() || !(runs.back().first == entry)) runs.emplace_back(entry, 0);
    runs.back().second += entry.count;
  }
  std::vector<std::string> lines;
  constexpr std::size_t kMostLines = 8;
  for (std::size_t i = 0; i < std::min(runs.size(), kMostLines); ++i) {
    const auto& [entry, count] = runs[i];
    lines.push_back(fmt::format("{} of {}, {}", count, description.types[entry.type].name,
                                CountedText(entry.gpu_count, "GPU", "GPUs")));
  }
  if (runs.size() > kMostLines)
    lines.push_back(fmt::format("and {} more", runs.size() - kMostLines));
  return lines;
}

TextTable SummaryTable(const Arguments& arguments, const ImportedCluster& imported) {
  const Cluster& cluster = imported.cluster;
  TextTable table({{"", Alignment::kLeft}, {"", Alignment::kLeft}});
  const auto add_lines = [&table](std::string label, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      table.AddRow({std::move(label), line});
      label.clear();
    }
  };
  table.AddRow({"cluster", arguments.output});
  add_lines("domains", DomainLines(imported.description));
  table.AddRow({"GPUs", fmt::format("{} in {}", cluster.gpus.size(),
                                    CountedText(cluster.node_count, "node", "nodes"))});
  table.AddRow({"NICs", fmt::format("{} on {}", cluster.nics.size(),
                                    CountedText(RailCount(cluster), "rail", "rails"))});
  if (!cluster.fabric.switches.empty()) {
    table.AddRow({"switches", fmt::format("{}", cluster.fabric.switches.size())});
  }
  if (!imported.description.overrides.empty()) {
    table.AddRow({"overrides", fmt::format("{}", imported.description.overrides.size())});
  }
  add_lines("assumed", imported.assumptions);
  return table;
}

TextTable NodeTable(const NodeShape& shape) {
  TextTable table({{"GPU", Alignment::kRight},
                   {"NVLink", Alignment::kRight},
                   {"NIC", Alignment::kLeft},
                   {"rail", Alignment::kRight},
                   {"NIC rate", Alignment::kRight},
                   {"shared by GPUs", Alignment::kRight}});
  for (std::size_t gpu = 0; gpu < shape.gpu_nvlink_gbps.size(); ++gpu) {
    std::string number = fmt::format("{}", gpu);
    std::string nvlink = RateText(shape.gpu_nvlink_gbps[gpu]);
    const std::vector<const ShapedNic*> nics = NicsOf(shape, gpu);
    if (nics.empty()) table.AddRow({number, nvlink, "none"});
    for (const ShapedNic* nic : nics) {
      table.AddRow({number, nvlink, nic->name, fmt::format("{}", nic->rail), RateText(nic->gbps),
                    fmt::format("{}", nic->gpus.size())});
      number.clear();
      nvlink.clear();
    }
  }
  return table;
}

void PrintTables(const Arguments& arguments, const ImportedCluster& imported) {
  Print(SummaryTable(arguments, imported).Text());
  // Hosts of a large dump look alike.
  std::set<std::string> shown;
  for (const ImportedNode& node : imported.nodes) {
    const std::string text = NodeTable(node.shape).Text();
    if (!shown.insert(text).second) continue;
    Print(fmt::format("\n{}\n{}", node.description.source, text));
  }
}

Result<void> Run(int argc, char** argv) {
  Arguments arguments;
  const Result<bool> wanted = ReadArguments(argc, argv, arguments);
  if (!wanted) return tl::unexpected(wanted.error());
  if (!*wanted) return {};

  for (const std::string& file : arguments.files) {
    if (Result<void> free = CheckOutputPath(arguments.output, file); !free) return free;
  }
  const Result<std::vector<TopologyFile>> files = ReadFiles(arguments.files);
  if (!files) return tl::unexpected(files.error());
  const Result<ImportedCluster> imported = ImportCluster(*files, arguments.options);
  if (!imported) return tl::unexpected(imported.error());
  const Result<std::int64_t> written = WriteWholeFile(
      arguments.output, JsonReport(*ClusterToJson(imported->description).AsObject()));
  if (!written) return tl::unexpected(written.error());
  if (arguments.json) {
    PrintJson(arguments, *imported, *written);
  } else {
    PrintTables(arguments, *imported);
  }
  return {};
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  return reshard::RunCommand(reshard::kProgram, [&] { return reshard::Run(argc, argv); });
}
