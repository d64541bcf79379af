#include "topology/importers/import.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "topology/builtin_types.h"
#include "topology/cluster_builder.h"
#include "topology/importers/cluster_assembly.h"
#include "topology/importers/gpu_kind.h"
#include "topology/importers/nccl_topology.h"
#include "topology/importers/node_layout.h"
#include "topology/importers/node_merge.h"
#include "topology/importers/slurm_topology.h"
#include "topology/importers/smi_matrix.h"

namespace reshard {
namespace {

enum class FileKind { kNcclXml, kSmiMatrix, kTopologyConf, kTopologyYaml, kJson, kUnknown };

std::string_view WithoutLeadingBlanks(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  return text;
}

// The first line that is neither empty nor a comment.
std::string_view FirstLine(std::string_view text) {
  while (true) {
    text = WithoutLeadingBlanks(text);
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!text.starts_with('#')) return text.substr(0, end);
    text.remove_prefix(end);
  }
}

FileKind KindOf(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return FileKind::kUnknown;
  const std::string_view begin = WithoutLeadingBlanks(text);
  if (begin.starts_with('<')) return FileKind::kNcclXml;
  if (begin.starts_with('{')) return FileKind::kJson;
  if (HoldsTopologyConf(text)) return FileKind::kTopologyConf;
  if (HoldsSmiMatrix(text)) return FileKind::kSmiMatrix;
  const std::string_view first = FirstLine(text);
  if (first.starts_with("- ") || first == "-" || first.starts_with("---")) {
    return FileKind::kTopologyYaml;
  }
  return FileKind::kUnknown;
}

// The files by what they hold.
struct Sources {
  std::vector<NodeDescription> nodes;
  std::int64_t node_files = 0;
  std::vector<std::size_t> matrices;  // indices of nodes that nvidia-smi describes
  std::optional<SlurmTopology> slurm;
};

Result<void> AddSlurm(Result<SlurmTopology> read, Sources& sources) {
  if (!read) return tl::unexpected(read.error());
  if (sources.slurm) {
    return InputError(read->source, "is a second file of SLURM, after " + sources.slurm->source,
                      "give one");
  }
  sources.slurm = *std::move(read);
  return {};
}

Result<void> AddNodes(Result<std::vector<NodeDescription>> read, Sources& sources) {
  if (!read) return tl::unexpected(read.error());
  ++sources.node_files;
  std::move(read->begin(), read->end(), std::back_inserter(sources.nodes));
  return {};
}

Result<void> AddFile(const TopologyFile& file, Sources& sources) {
  if (WithoutLeadingBlanks(file.text).empty()) return InputError(file.name, "is empty");
  switch (KindOf(file.text)) {
    case FileKind::kNcclXml:
      return AddNodes(ReadNcclTopology(file.text, file.name), sources);
    case FileKind::kSmiMatrix:
      sources.matrices.push_back(sources.nodes.size());
      return AddNodes(ReadSmiMatrix(file.text, file.name).map([](NodeDescription node) {
        return std::vector{std::move(node)};
      }),
                      sources);
    case FileKind::kTopologyConf:
      return AddSlurm(ReadTopologyConf(file.text, file.name), sources);
    case FileKind::kTopologyYaml:
      return AddSlurm(ReadTopologyYaml(file.text, file.name), sources);
    case FileKind::kJson:
      return InputError(file.name, "is JSON, not a topology file of another tool",
                        "a cluster.json needs no import");
    case FileKind::kUnknown:
      break;
  }
  return InputError(file.name,
                    "is neither NCCL topology XML, nvidia-smi topo -m, topology.conf nor "
                    "topology.yaml");
}

// One node's XML and one matrix are of one node.
Result<void> JoinDescriptions(Sources& sources) {
  if (sources.nodes.size() != 2 || sources.node_files != 2 || sources.matrices.size() != 1)
    return {};
  const std::size_t matrix = sources.matrices.front();
  Result<NodeDescription> merged = MergeNode(sources.nodes[1 - matrix], sources.nodes[matrix]);
  if (!merged) return tl::unexpected(merged.error());
  sources.nodes = {*std::move(merged)};
  sources.node_files = 1;
  return {};
}

// A node of a built-in type, as if a file had described it.
NodeDescription NodeOfType(const DomainType& type) {
  NodeDescription node;
  node.source = "--type " + type.name;
  for (std::int32_t gpu = 0; gpu < type.gpus_per_node; ++gpu) {
    DescribedGpu described;
    described.name = "GPU " + std::to_string(gpu);
    described.nvlinks = NvlinksOfType(type.name);
    node.gpus.push_back(std::move(described));
    std::vector<NicDistance>& distances = node.distances.emplace_back();
    for (const NicType& nic : type.nics) {
      const bool serves = std::find(nic.gpus.begin(), nic.gpus.end(), gpu) != nic.gpus.end();
      distances.push_back(serves ? NicDistance::kOneBridge : NicDistance::kSystem);
    }
  }
  for (std::size_t nic = 0; nic < type.nics.size(); ++nic) {
    node.nics.push_back(
        {"NIC" + std::to_string(nic), std::to_string(nic), type.nics[nic].gbps / kReachedShare});
  }
  return node;
}

class Importer {
 public:
  Importer(Sources sources, const ImportOptions& options)
      : sources_(std::move(sources)), options_(options) {}

  Result<ImportedCluster> Import() {
    if (sources_.slurm) Note(sources_.slurm->assumptions);
    if (Result<void> described = CompleteNodes(); !described) {
      return tl::unexpected(described.error());
    }
    if (Result<void> shaped = ShapeNodes(); !shaped) return tl::unexpected(shaped.error());
    const Result<NodeLayout> layout = LayOutNodes(SourcesOfLayout());
    if (!layout) return tl::unexpected(layout.error());
    Note(layout->assumptions);
    std::vector<NodeShape> shapes;
    std::vector<std::string> kind_names;
    for (const ImportedNode& node : imported_.nodes) {
      shapes.push_back(node.shape);
      kind_names.push_back(node.kind);
    }
    Result<AssembledCluster> assembled =
        AssembleCluster(shapes, kind_names, *layout, sources_.slurm ? &*sources_.slurm : nullptr);
    if (!assembled) return tl::unexpected(assembled.error());
    Note(assembled->assumptions);
    Note(
        {"the NICs of a rail stand at the same place in their nodes, and rails reach each other "
         "without loss (railCrossing FULL)"});
    imported_.description = std::move(assembled->description);
    Result<Cluster> cluster = BuildCluster(imported_.description);
    if (!cluster) return tl::unexpected(cluster.error());
    imported_.cluster = *std::move(cluster);
    return std::move(imported_);
  }

 private:
  void Note(const std::vector<std::string>& assumptions) {
    imported_.assumptions.insert(imported_.assumptions.end(), assumptions.begin(),
                                 assumptions.end());
  }

  // Of each node; what holds for all is said once, the rest names its node.
  void NoteOfNodes(const std::vector<std::vector<std::string>>& assumptions) {
    std::map<std::string, std::size_t> nodes_with;
    for (const std::vector<std::string>& of_node : assumptions) {
      for (const std::string& line : std::set(of_node.begin(), of_node.end())) ++nodes_with[line];
    }
    for (std::size_t i = 0; i < assumptions.size(); ++i) {
      for (const std::string& line : assumptions[i]) {
        const bool of_all = nodes_with[line] == assumptions.size();
        if (!of_all) Note({sources_.nodes[i].source + ": " + line});
        if (of_all && i == 0) Note({line});
      }
    }
  }

  Result<void> CompleteNodes() {
    if (!sources_.nodes.empty()) return {};
    const std::optional<DomainType> type = BuiltinType(options_.type);
    if (!options_.type.empty() && !type) {
      return tl::unexpected(RecogniseGpus(NodeDescription(), options_.type).error());
    }
    if (!type) {
      return InputError(sources_.slurm ? sources_.slurm->source : "",
                        "names nodes, but no file describes one",
                        "give one node's NCCL topology XML or nvidia-smi topo -m as well, or the "
                        "built-in type, for example --type gb200-nvl72");
    }
    sources_.nodes.push_back(NodeOfType(*type));
    return {};
  }

  Result<void> ShapeNodes() {
    std::vector<GpuKind> kinds;
    std::vector<NicAssignment> assignments;
    std::vector<std::vector<std::string>> assumptions;
    const auto note = [&assumptions](const std::vector<std::string>& more) {
      assumptions.back().insert(assumptions.back().end(), more.begin(), more.end());
    };
    for (const NodeDescription& node : sources_.nodes) {
      assumptions.push_back(node.assumptions);
      Result<GpuKind> kind = RecogniseGpus(node, options_.type);
      if (!kind) return tl::unexpected(kind.error());
      note(kind->assumptions);
      kinds.push_back(*std::move(kind));
      Result<NicAssignment> assignment = AssignNics(node, options_.nic_of);
      if (!assignment) return tl::unexpected(assignment.error());
      note(assignment->assumptions);
      assignments.push_back(*std::move(assignment));
    }
    const std::vector<std::vector<std::int32_t>> rails = NumberRails(sources_.nodes, assignments);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const NodeDescription& node = sources_.nodes[i];
      Result<NodeShape> shape =
          ShapeNode(node, kinds[i], assignments[i], rails[i], options_.nic_gbps);
      if (!shape) return tl::unexpected(shape.error());
      assumptions[i].insert(assumptions[i].end(), shape->assumptions.begin(),
                            shape->assumptions.end());
      imported_.nodes.push_back({node, kinds[i].type.name, *std::move(shape)});
      nodes_per_domain_ = std::max(nodes_per_domain_, NodesPerDomain(kinds[i].type));
    }
    NoteOfNodes(assumptions);
    return {};
  }

  LayoutSources SourcesOfLayout() const {
    LayoutSources layout;
    layout.description_count = static_cast<std::int64_t>(sources_.nodes.size());
    layout.same_domain = sources_.node_files == 1 && sources_.nodes.size() > 1;
    layout.nodes_per_domain = nodes_per_domain_;
    layout.type_name = imported_.nodes.front().kind;
    layout.nodes = options_.nodes;
    layout.domain_nodes = options_.domain_nodes;
    layout.slurm = sources_.slurm ? &*sources_.slurm : nullptr;
    return layout;
  }

  Sources sources_;
  const ImportOptions& options_;
  ImportedCluster imported_;
  std::int64_t nodes_per_domain_ = 1;
};

}  // namespace

Result<ImportedCluster> ImportCluster(const std::vector<TopologyFile>& files,
                                      const ImportOptions& options) {
  Sources sources;
  for (const TopologyFile& file : files) {
    if (Result<void> added = AddFile(file, sources); !added) {
      return tl::unexpected(added.error());
    }
  }
  if (Result<void> joined = JoinDescriptions(sources); !joined) {
    return tl::unexpected(joined.error());
  }
  return Importer(std::move(sources), options).Import();
}

}  // namespace reshard
