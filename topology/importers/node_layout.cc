#include "topology/importers/node_layout.h"

#include <algorithm>
#include <utility>

#include "topology/cluster_builder.h"

namespace reshard {
namespace {

std::string NodesText(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

// A fault of the command line where an option is to blame, else of the files.
tl::unexpected<Error> Refuse(const std::string& option, std::string reason, std::string remedy) {
  auto refused = InputError(option, std::move(reason), std::move(remedy));
  if (!option.empty()) refused.value().fault = Fault::kUsage;
  return refused;
}

Result<std::int64_t> CountNodes(const LayoutSources& sources, NodeLayout& layout) {
  if (sources.slurm != nullptr) {
    const auto count = static_cast<std::int64_t>(sources.slurm->nodes.size());
    if (sources.nodes && *sources.nodes != count) {
      return Refuse("--nodes " + std::to_string(*sources.nodes),
                    sources.slurm->source + " names " + NodesText(count), "leave it out");
    }
    return count;
  }
  if (sources.nodes) return *sources.nodes;
  if (sources.description_count == 1) {
    layout.assumptions.emplace_back(
        "one node, as nothing says how many (--nodes, or SLURM's file)");
  }
  return sources.description_count;
}

Result<void> FitDescriptions(const LayoutSources& sources, std::int64_t node_count,
                             NodeLayout& layout) {
  const std::int64_t descriptions = sources.description_count;
  const bool fits = sources.same_domain || descriptions == 1 ? node_count % descriptions == 0
                                                             : node_count == descriptions;
  if (!fits) {
    return Refuse("",
                  std::to_string(descriptions) + " nodes are described, but there are " +
                      NodesText(node_count),
                  "describe one node for all, or each");
  }
  for (std::int64_t node = 0; node < node_count; ++node) {
    layout.descriptions.push_back(static_cast<std::int32_t>(node % descriptions));
  }
  if (node_count > descriptions) {
    layout.assumptions.push_back("all " + NodesText(node_count) + " are like " +
                                 (descriptions == 1 ? "the one" : "those") + " described");
  }
  return {};
}

// Runs of `size` nodes, the last one shorter where it does not divide.
void AppendDomains(std::int64_t node_count, std::int64_t size, NodeLayout& layout) {
  for (std::int64_t done = 0; done < node_count; done += size) {
    layout.domain_nodes.push_back(std::min(size, node_count - done));
  }
}

// The same, and says so of a shorter one.
void CutEvenly(std::int64_t node_count, std::int64_t size, NodeLayout& layout) {
  AppendDomains(node_count, size, layout);
  if (node_count % size != 0) {
    layout.assumptions.push_back("the last NVLink domain has " + NodesText(node_count % size) +
                                 " of " + std::to_string(size));
  }
}

Result<void> CutAsSaid(const LayoutSources& sources, std::int64_t node_count, NodeLayout& layout) {
  const std::int64_t size = *sources.domain_nodes;
  if (sources.slurm != nullptr) {
    for (const SlurmBlock& block : sources.slurm->blocks) {
      if (static_cast<std::int64_t>(block.nodes.size()) % size == 0) continue;
      return Refuse("--domain-nodes " + std::to_string(size),
                    "does not divide the " + NodesText(block.nodes.size()) + " of block '" +
                        block.name + "' in " + sources.slurm->source,
                    "leave it out: a block is then one NVLink domain");
    }
  }
  CutEvenly(node_count, size, layout);
  return {};
}

Result<void> CutAsTheType(const LayoutSources& sources, std::int64_t node_count,
                          NodeLayout& layout) {
  const std::int64_t size =
      sources.same_domain ? sources.description_count : sources.nodes_per_domain;
  if (size > 1 && node_count > size && node_count % size != 0) {
    return Refuse("",
                  "NVLink joins " + std::to_string(size) + " nodes of " + sources.type_name +
                      ", which does not divide " + NodesText(node_count),
                  "say how many nodes an NVLink domain has with --domain-nodes");
  }
  if (size > 1 && !sources.same_domain) {
    layout.assumptions.push_back("NVLink joins " + NodesText(std::min(size, node_count)) +
                                 " to one domain, of at most " + std::to_string(size) + " in " +
                                 sources.type_name + " (--domain-nodes says otherwise)");
  }
  AppendDomains(node_count, size, layout);
  return {};
}

}  // namespace

Result<NodeLayout> LayOutNodes(const LayoutSources& sources) {
  NodeLayout layout;
  const Result<std::int64_t> node_count = CountNodes(sources, layout);
  if (!node_count) return tl::unexpected(node_count.error());
  if (*node_count > kMaxGpus) {
    return Refuse("--nodes " + std::to_string(*node_count),
                  "more than " + std::to_string(kMaxGpus) + " nodes", "");
  }
  if (Result<void> fitted = FitDescriptions(sources, *node_count, layout); !fitted) {
    return tl::unexpected(fitted.error());
  }
  const bool has_blocks = sources.slurm != nullptr && !sources.slurm->blocks.empty();
  const bool spans_nodes = sources.nodes_per_domain > 1 || sources.same_domain;
  if (has_blocks && !sources.domain_nodes && spans_nodes) {
    for (const SlurmBlock& block : sources.slurm->blocks) {
      layout.domain_nodes.push_back(static_cast<std::int64_t>(block.nodes.size()));
    }
    layout.assumptions.emplace_back(
        "each SLURM block is one NVLink domain (--domain-nodes says otherwise)");
    return layout;
  }
  if (has_blocks && !sources.domain_nodes) {
    layout.assumptions.push_back("NVLink stays inside the nodes of " + sources.type_name +
                                 ": SLURM's blocks do not count (--domain-nodes says otherwise)");
  }
  Result<void> cut = sources.domain_nodes ? CutAsSaid(sources, *node_count, layout)
                                          : CutAsTheType(sources, *node_count, layout);
  if (!cut) return tl::unexpected(cut.error());
  return layout;
}

}  // namespace reshard
