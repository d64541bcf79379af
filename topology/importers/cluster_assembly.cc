#include "topology/importers/cluster_assembly.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "topology/builtin_types.h"

namespace reshard {
namespace {

bool EqualButForSize(const DomainType& a, const DomainType& b) {
  return a.gpus_per_node == b.gpus_per_node && a.nvlink_gbps == b.nvlink_gbps &&
         a.hbm_gbps == b.hbm_gbps && a.nics == b.nics &&
         a.nvlink_latency_us == b.nvlink_latency_us && a.network_latency_us == b.network_latency_us;
}

// Gives each distinct type a name and an index.
class TypeRegistry {
 public:
  // The index of a type equal to `type`, which may be larger.
  std::int32_t Register(DomainType type, const std::string& kind_name) {
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (!EqualButForSize(types_[i], type)) continue;
      // What has a built-in type's name is that type or less of it.
      const bool outgrows_builtin =
          type.gpu_count > types_[i].gpu_count && BuiltinType(types_[i].name).has_value();
      if (outgrows_builtin) continue;
      types_[i].gpu_count = std::max(types_[i].gpu_count, type.gpu_count);
      return static_cast<std::int32_t>(i);
    }
    type.name = NameOf(type, kind_name);
    if (const std::optional<DomainType> builtin = BuiltinType(type.name)) type = *builtin;
    types_.push_back(std::move(type));
    return static_cast<std::int32_t>(types_.size()) - 1;
  }

  // Moves the types out, by name, and renumbers the entries.
  std::vector<DomainType> Finish(std::vector<DomainEntry>& entries) {
    std::vector<std::int32_t> order(types_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [this](std::int32_t a, std::int32_t b) { return types_[a].name < types_[b].name; });
    std::vector<DomainType> sorted;
    std::vector<std::int32_t> new_index(types_.size());
    for (const std::int32_t old : order) {
      new_index[old] = static_cast<std::int32_t>(sorted.size());
      sorted.push_back(std::move(types_[old]));
    }
    for (DomainEntry& entry : entries) entry.type = new_index[entry.type];
    return sorted;
  }

 private:
  // The built-in type's where it is one; else "h100-8gpu-10nic", by what one node holds.
  std::string NameOf(const DomainType& type, const std::string& kind_name) const {
    for (const std::string_view name : BuiltinTypeNames()) {
      const DomainType builtin = *BuiltinType(name);
      if (EqualButForSize(builtin, type) && type.gpu_count <= builtin.gpu_count) {
        return std::string(name);
      }
    }
    std::string stem = kind_name;
    if (stem.starts_with("dgx-")) stem.erase(0, 4);
    stem = stem.substr(0, stem.find("-nvl"));
    stem += "-" + std::to_string(type.gpus_per_node) + "gpu-" + std::to_string(type.nics.size()) +
            "nic";
    const auto is_taken = [this](const std::string& name) {
      return std::any_of(types_.begin(), types_.end(),
                         [&](const DomainType& one) { return one.name == name; });
    };
    std::string name = stem;
    for (int number = 2; is_taken(name); ++number) name = stem + "-" + std::to_string(number);
    return name;
  }

  std::vector<DomainType> types_;
};

class ClusterAssembler {
 public:
  ClusterAssembler(std::span<const NodeShape> shapes, std::span<const std::string> kind_names,
                   const NodeLayout& layout)
      : shapes_(shapes), kind_names_(kind_names), layout_(layout) {}

  Result<AssembledCluster> Assemble(const SlurmTopology* slurm) {
    std::int64_t first = 0;
    for (const std::int64_t count : layout_.domain_nodes) {
      const std::span<const std::int32_t> nodes =
          std::span(layout_.descriptions).subspan(first, count);
      Result<void> added = count == 1 ? AddNode(nodes.front()) : AddJoined(nodes, first);
      if (!added) return tl::unexpected(added.error());
      first += count;
    }
    if (slurm != nullptr) AddSwitches(*slurm);
    ClusterDescription& description = assembled_.description;
    description.types = types_.Finish(description.entries);
    return std::move(assembled_);
  }

 private:
  // A node that is an NVLink domain of its own, or several.
  Result<void> AddNode(std::int32_t shape_index) {
    const NodeShape& shape = shapes_[shape_index];
    domains_of_node_.push_back({domain_count_, static_cast<std::int32_t>(shape.islands.size())});
    for (const IslandShape& island : shape.islands) {
      AddDomain(island.type, kind_names_[shape_index], 1);
      if (island.gpus.size() > 1) NoteSlowGpus(shape, island, island.type.nvlink_gbps);
      Advance(island);
    }
    return {};
  }

  // Several nodes, from number `first` on, in one NVLink domain.
  Result<void> AddJoined(std::span<const std::int32_t> nodes, std::int64_t first) {
    DomainType type = shapes_[nodes.front()].islands.front().type;
    type.gpu_count = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeShape& shape = shapes_[nodes[i]];
      const std::int64_t node = first + static_cast<std::int64_t>(i);
      if (shape.islands.size() > 1) {
        return InputError("node " + std::to_string(node),
                          "NVLink joins only some of its GPUs, so it cannot join whole nodes",
                          "leave out --domain-nodes");
      }
      if (!Fits(shape.islands.front().type, type, i + 1 == nodes.size())) {
        return InputError("node " + std::to_string(node),
                          "differs in more than rates from node " + std::to_string(first) +
                              ", with which NVLink joins it",
                          "describe each NVLink domain with nodes of equal GPUs and NICs");
      }
      type.gpu_count += shape.islands.front().type.gpu_count;
      for (const double gbps : shape.gpu_nvlink_gbps) {
        type.nvlink_gbps = std::max(type.nvlink_gbps, gbps);
      }
    }
    domains_of_node_.insert(domains_of_node_.end(), nodes.size(), {domain_count_, 1});
    AddDomain(type, kind_names_[nodes.front()], static_cast<std::int64_t>(nodes.size()));
    for (const std::int32_t index : nodes) {
      const IslandShape& island = shapes_[index].islands.front();
      NoteSlowGpus(shapes_[index], island, type.nvlink_gbps);
      NoteOtherNics(island.type, type);
      Advance(island);
    }
    return {};
  }

  // Whether a node can stand in a domain of `type`: equal but for rates, the last one maybe
  // without its last GPUs.
  static bool Fits(const DomainType& node, const DomainType& type, bool is_last) {
    if (node.gpu_count > type.gpus_per_node) return false;
    if (node.gpu_count < type.gpus_per_node && !is_last) return false;
    if (node.hbm_gbps != type.hbm_gbps) return false;
    const std::vector<NicType> kept = KeptNics(type, node.gpu_count);
    return std::equal(
        kept.begin(), kept.end(), node.nics.begin(), node.nics.end(),
        [](const NicType& a, const NicType& b) { return a.gpus == b.gpus && a.rail == b.rail; });
  }

  // The NICs of a node of `type` that keeps only its first GPUs.
  static std::vector<NicType> KeptNics(const DomainType& type, std::int32_t gpu_count) {
    std::vector<NicType> kept;
    for (NicType nic : type.nics) {
      std::erase_if(nic.gpus, [&](std::int32_t gpu) { return gpu >= gpu_count; });
      if (!nic.gpus.empty()) kept.push_back(std::move(nic));
    }
    return kept;
  }

  void AddDomain(const DomainType& type, const std::string& kind_name, std::int64_t node_count) {
    assembled_.description.entries.push_back({types_.Register(type, kind_name), type.gpu_count, 1});
    nodes_of_domain_.push_back(node_count);
    ++domain_count_;
  }

  void NoteSlowGpus(const NodeShape& shape, const IslandShape& island, double gbps) {
    for (std::size_t i = 0; i < island.gpus.size(); ++i) {
      if (shape.gpu_nvlink_gbps[island.gpus[i]] == gbps) continue;
      Override change;
      change.gpu = gpu_count_ + static_cast<std::int64_t>(i);
      change.nvlink_gbps = shape.gpu_nvlink_gbps[island.gpus[i]];
      assembled_.description.overrides.push_back(change);
    }
  }

  void NoteOtherNics(const DomainType& node, const DomainType& type) {
    const std::vector<NicType> kept = KeptNics(type, node.gpu_count);
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
      if (node.nics[i].gbps == kept[i].gbps) continue;
      Override change;
      change.nic = nic_count_ + static_cast<std::int64_t>(i);
      change.nic_gbps = node.nics[i].gbps;
      assembled_.description.overrides.push_back(change);
    }
  }

  void Advance(const IslandShape& island) {
    gpu_count_ += island.type.gpu_count;
    nic_count_ += static_cast<std::int64_t>(island.type.nics.size());
  }

  void AddSwitches(const SlurmTopology& slurm) {
    std::set<std::vector<DomainIndex>> known;
    for (const SlurmSwitch& one : slurm.switches) {
      const std::optional<std::vector<DomainIndex>> domains = WholeDomains(one.nodes);
      if (!domains) {
        assembled_.assumptions.push_back("switch '" + one.name +
                                         "' parts an NVLink domain: left out of the fabric");
        continue;
      }
      // What all domains hang on keeps nothing from leaving.
      if (std::cmp_equal(domains->size(), domain_count_) || !known.insert(*domains).second)
        continue;
      assembled_.description.fabric.switches.push_back({*domains, 1.0});
    }
    if (!assembled_.description.fabric.switches.empty()) {
      assembled_.assumptions.emplace_back(
          "SLURM does not tell oversubscription: switches of the fabric have 1");
    }
  }

  // The domains of `nodes`; none where one of them has other nodes too.
  std::optional<std::vector<DomainIndex>> WholeDomains(
      const std::vector<std::int32_t>& nodes) const {
    std::map<DomainIndex, std::int64_t> found;
    for (const std::int32_t node : nodes) {
      const DomainsOfNode& of_node = domains_of_node_[node];
      for (std::int32_t i = 0; i < of_node.count; ++i) ++found[of_node.first + i];
    }
    std::vector<DomainIndex> domains;
    for (const auto& [domain, node_count] : found) {
      if (node_count != nodes_of_domain_[domain]) return std::nullopt;
      domains.push_back(domain);
    }
    return domains;
  }

  struct DomainsOfNode {
    DomainIndex first = 0;
    std::int32_t count = 0;
  };

  std::span<const NodeShape> shapes_;
  std::span<const std::string> kind_names_;
  const NodeLayout& layout_;
  TypeRegistry types_;
  AssembledCluster assembled_;
  std::vector<DomainsOfNode> domains_of_node_;
  std::vector<std::int64_t> nodes_of_domain_;
  DomainIndex domain_count_ = 0;
  std::int64_t gpu_count_ = 0;
  std::int64_t nic_count_ = 0;
};

}  // namespace

Result<AssembledCluster> AssembleCluster(std::span<const NodeShape> shapes,
                                         std::span<const std::string> kind_names,
                                         const NodeLayout& layout, const SlurmTopology* slurm) {
  return ClusterAssembler(shapes, kind_names, layout).Assemble(slurm);
}

}  // namespace reshard
