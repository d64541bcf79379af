#include "topology/importers/node_shape.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace reshard {
namespace {

std::int64_t Serving(const NicAssignment& assignment) {
  return std::count_if(assignment.gpus.begin(), assignment.gpus.end(),
                       [](const std::vector<std::int32_t>& gpus) { return !gpus.empty(); });
}

class NodeShaper {
 public:
  NodeShaper(const NodeDescription& node, const GpuKind& kind, const NicAssignment& assignment)
      : node_(node), kind_(kind), assignment_(assignment) {}

  Result<NodeShape> Shape(const std::vector<std::int32_t>& rails, std::optional<double> said_gbps) {
    RateNvlinks();
    if (Result<void> rated = RateNics(rails, said_gbps); !rated) {
      return tl::unexpected(rated.error());
    }
    FillIslands();
    return std::move(shape_);
  }

 private:
  void RateNvlinks() {
    const double link_gbps = kind_.type.nvlink_gbps / static_cast<double>(kind_.nvlinks);
    std::int64_t most = 0;
    for (const DescribedGpu& gpu : node_.gpus) {
      const std::int64_t links = gpu.nvlinks.value_or(kind_.nvlinks);
      // The whole number of links reaches the type's very rate, free of rounding.
      shape_.gpu_nvlink_gbps.push_back(
          links == kind_.nvlinks ? kind_.type.nvlink_gbps : link_gbps * static_cast<double>(links));
      most = std::max(most, links);
    }
    const bool told = node_.gpus.front().nvlinks.has_value();
    if (!told && node_.gpus.size() > 1) {
      shape_.assumptions.push_back("the file does not tell NVLinks: every GPU has all " +
                                   std::to_string(kind_.nvlinks) + ", over switches");
    } else if (told && most > 0 && most != kind_.nvlinks) {
      shape_.assumptions.push_back("GPUs have " + std::to_string(most) + " NVLinks, " +
                                   kind_.type.name + " " + std::to_string(kind_.nvlinks) +
                                   ": the rate is that share");
    }
    for (const DescribedGpu& gpu : node_.gpus) {
      if (!gpu.nvlinks || *gpu.nvlinks == most) continue;
      shape_.assumptions.push_back(gpu.name + " has " + std::to_string(*gpu.nvlinks) +
                                   " NVLinks of " + std::to_string(most) +
                                   ", in every node like this");
    }
  }

  Result<void> RateNics(const std::vector<std::int32_t>& rails, std::optional<double> said_gbps) {
    bool is_assumed = false;
    for (std::size_t nic = 0; nic < node_.nics.size(); ++nic) {
      if (assignment_.gpus[nic].empty()) continue;
      const std::optional<double> line = node_.nics[nic].line_gbps;
      double gbps = line.value_or(0) * kReachedShare;
      if (said_gbps) {
        gbps = *said_gbps;
      } else if (!line) {
        if (!HasNicsOfType()) return Unrated(node_.nics[nic]);
        gbps = kind_.type.nics.front().gbps;
        is_assumed = true;
      }
      shape_.nics.push_back({node_.nics[nic].name, gbps, rails[nic], assignment_.gpus[nic]});
    }
    if (is_assumed) {
      shape_.assumptions.push_back("the file does not tell rates of NICs: those of " +
                                   kind_.type.name + " (--nic-GBps says otherwise)");
    }
    if (shape_.nics.empty()) shape_.assumptions.emplace_back("no NIC serves a GPU");
    return {};
  }

  // As many NICs for each GPU as the built-in type, none shared.
  bool HasNicsOfType() const {
    const auto of_type = static_cast<std::int64_t>(kind_.type.nics.size());
    const bool is_shared =
        std::any_of(assignment_.gpus.begin(), assignment_.gpus.end(),
                    [](const std::vector<std::int32_t>& gpus) { return gpus.size() > 1; });
    return !is_shared && Serving(assignment_) * kind_.type.gpus_per_node ==
                             of_type * static_cast<std::int64_t>(node_.gpus.size());
  }

  Result<void> Unrated(const DescribedNic& nic) const {
    return InputError(node_.source,
                      "does not tell the rate of NIC " + nic.name +
                          ", and its NICs are not those of " + kind_.type.name,
                      "say what one reaches each way, for example --nic-GBps 48");
  }

  // [gpu]: its island, numbered by first GPU.
  std::vector<std::int32_t> IslandOfGpus() const {
    std::map<std::int32_t, std::int32_t> sizes;
    for (const DescribedGpu& gpu : node_.gpus) ++sizes[gpu.nvlink_island];
    const auto is_cut_off = [&](const DescribedGpu& gpu) {
      return sizes.at(gpu.nvlink_island) == 1 && gpu.nvlinks == 0;
    };
    const auto connected = std::find_if_not(node_.gpus.begin(), node_.gpus.end(), is_cut_off);
    std::map<std::int32_t, std::int32_t> numbers;
    std::vector<std::int32_t> islands;
    std::int32_t last = connected == node_.gpus.end() ? 0 : connected->nvlink_island;
    for (const DescribedGpu& gpu : node_.gpus) {
      if (connected == node_.gpus.end() || !is_cut_off(gpu)) last = gpu.nvlink_island;
      const auto next = static_cast<std::int32_t>(numbers.size());
      islands.push_back(numbers.try_emplace(last, next).first->second);
    }
    return islands;
  }

  void FillIslands() {
    const std::vector<std::int32_t> island_of = IslandOfGpus();
    shape_.islands.resize(*std::max_element(island_of.begin(), island_of.end()) + 1);
    for (std::size_t gpu = 0; gpu < island_of.size(); ++gpu) {
      IslandShape& island = shape_.islands[island_of[gpu]];
      island.gpus.push_back(static_cast<std::int32_t>(gpu));
      island.type.nvlink_gbps = std::max(island.type.nvlink_gbps, shape_.gpu_nvlink_gbps[gpu]);
    }
    for (IslandShape& island : shape_.islands) {
      DomainType& type = island.type;
      type.gpu_count = static_cast<std::int32_t>(island.gpus.size());
      type.gpus_per_node = type.gpu_count;
      if (type.gpu_count == 1) type.nvlink_gbps = 0;
      type.hbm_gbps = kind_.type.hbm_gbps;
      type.nvlink_latency_us = kind_.type.nvlink_latency_us;
      type.network_latency_us = kind_.type.network_latency_us;
    }
    for (const ShapedNic& nic : shape_.nics) AddToIslands(nic, island_of);
    ExplainIslands(island_of);
  }

  void ExplainIslands(const std::vector<std::int32_t>& island_of) {
    if (shape_.islands.size() == 1) return;
    std::string line = "NVLink joins no more than " + std::to_string(LargestIsland()) + " of " +
                       std::to_string(node_.gpus.size()) + " GPUs of a node: each of " +
                       std::to_string(shape_.islands.size()) +
                       " islands is a domain, and a node, of its own";
    if (!std::is_sorted(island_of.begin(), island_of.end())) {
      line += ", and GPUs are numbered island by island";
    }
    shape_.assumptions.push_back(std::move(line));
  }

  std::int32_t LargestIsland() const {
    std::int32_t largest = 0;
    for (const IslandShape& island : shape_.islands) {
      largest = std::max(largest, island.type.gpu_count);
    }
    return largest;
  }

  // A NIC that serves several islands is cut: cluster.json keeps a NIC inside one domain.
  void AddToIslands(const ShapedNic& nic, const std::vector<std::int32_t>& island_of) {
    std::map<std::int32_t, NicType> parts;
    for (const std::int32_t gpu : nic.gpus) {
      const std::vector<std::int32_t>& members = shape_.islands[island_of[gpu]].gpus;
      const auto member = std::lower_bound(members.begin(), members.end(), gpu);
      parts[island_of[gpu]].gpus.push_back(static_cast<std::int32_t>(member - members.begin()));
    }
    for (auto& [island, part] : parts) {
      part.gbps =
          nic.gbps * static_cast<double>(part.gpus.size()) / static_cast<double>(nic.gpus.size());
      part.rail = nic.rail;
      shape_.islands[island].type.nics.push_back(std::move(part));
    }
    if (parts.size() > 1) {
      shape_.assumptions.push_back(nic.name + " serves " + std::to_string(parts.size()) +
                                   " islands: each has its share of the rate");
    }
  }

  const NodeDescription& node_;
  const GpuKind& kind_;
  const NicAssignment& assignment_;
  NodeShape shape_;
};

// Names of the NICs that serve, in order.
std::vector<std::string> ServingNames(const NodeDescription& node,
                                      const NicAssignment& assignment) {
  std::vector<std::string> names;
  for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
    if (!assignment.gpus[nic].empty()) names.push_back(node.nics[nic].name);
  }
  return names;
}

}  // namespace

Result<NodeShape> ShapeNode(const NodeDescription& node, const GpuKind& kind,
                            const NicAssignment& assignment, const std::vector<std::int32_t>& rails,
                            std::optional<double> said_gbps) {
  return NodeShaper(node, kind, assignment).Shape(rails, said_gbps);
}

std::vector<std::vector<std::int32_t>> NumberRails(std::span<const NodeDescription> nodes,
                                                   std::span<const NicAssignment> assignments) {
  std::vector<std::string> longest;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> names = ServingNames(nodes[i], assignments[i]);
    if (names.size() > longest.size()) longest = std::move(names);
  }
  std::map<std::string, std::int32_t> rail_of;
  for (const std::string& name : longest) {
    rail_of.try_emplace(name, static_cast<std::int32_t>(rail_of.size()));
  }
  // Names that do not tell NICs of a node apart, or that another node lacks, are no rails.
  bool by_name = rail_of.size() == longest.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<std::string> names = ServingNames(nodes[i], assignments[i]);
    by_name = by_name && std::set(names.begin(), names.end()).size() == names.size();
    for (const std::string& name : names) by_name = by_name && rail_of.contains(name);
  }
  std::vector<std::vector<std::int32_t>> rails;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::int32_t>& of_node = rails.emplace_back(nodes[i].nics.size(), 0);
    std::int32_t next = 0;
    for (std::size_t nic = 0; nic < nodes[i].nics.size(); ++nic) {
      if (assignments[i].gpus[nic].empty()) continue;
      of_node[nic] = by_name ? rail_of.at(nodes[i].nics[nic].name) : next;
      ++next;
    }
  }
  return rails;
}

}  // namespace reshard
