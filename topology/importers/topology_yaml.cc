// The reader of topology.yaml.
#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <utility>

#include "topology/importers/quotation.h"
#include "topology/importers/slurm_builder.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {
namespace {

// The library keeps about two hundred bytes for each value; ten thousand nodes in host lists are a
// few kilobytes.
constexpr std::size_t kLongestYaml = std::size_t{1} << 20;

std::string Place(const std::string& name, const YAML::Mark& mark) {
  return mark.line < 0 ? name : name + ": line " + std::to_string(mark.line + 1);
}

// All below run where YAML's exceptions are caught.
class YamlReader {
 public:
  explicit YamlReader(const std::string& name) : name_(name), builder_(name) {}

  Result<SlurmTopology> Read(const YAML::Node& root) {
    if (!root.IsSequence() || root.size() == 0) {
      return Fail(root, "expected a list of topologies");
    }
    YAML::Node chosen = root[0];
    for (const YAML::Node& entry : root) {
      if (!entry.IsMap() || !entry["topology"]) {
        return Fail(entry, "expected an entry that begins with topology: NAME");
      }
    }
    for (const YAML::Node& entry : root) {
      if (!entry["cluster_default"] || !entry["cluster_default"].as<bool>()) continue;
      chosen = entry;
      break;
    }
    const auto topology_name = chosen["topology"].as<std::string>();
    if (root.size() > 1) {
      builder_.Assume("of " + std::to_string(root.size()) + " topologies, " +
                      Quoted(topology_name) + " is the cluster's");
    }
    Result<void> read = ReadKind(chosen, topology_name);
    if (!read) return tl::unexpected(read.error());
    return builder_.Finish();
  }

 private:
  tl::unexpected<Error> Fail(const YAML::Node& at, std::string reason) const {
    return InputError(Place(name_, at.Mark()), std::move(reason));
  }

  Result<void> ReadKind(const YAML::Node& topology, const std::string& topology_name) {
    if (topology["block"]) return ReadBlocks(topology["block"]["blocks"], topology);
    if (topology["tree"]) return ReadSwitches(topology["tree"]["switches"], topology);
    return Fail(topology, "topology " + Quoted(topology_name) +
                              " is neither a tree nor of blocks and so names no nodes");
  }

  Result<void> ReadBlocks(const YAML::Node& blocks, const YAML::Node& topology) {
    if (!blocks || !blocks.IsSequence()) return Fail(topology, "block.blocks: expected a list");
    for (const YAML::Node& block : blocks) {
      if (!block.IsMap() || !block["block"] || !block["nodes"]) {
        return Fail(block, "expected block: NAME and nodes: LIST");
      }
      Result<void> added =
          builder_.AddBlock(block["block"].as<std::string>(), block["nodes"].as<std::string>(),
                            Place(name_, block.Mark()));
      if (!added) return added;
    }
    return {};
  }

  Result<void> ReadSwitches(const YAML::Node& switches, const YAML::Node& topology) {
    if (!switches || !switches.IsSequence())
      return Fail(topology, "tree.switches: expected a list");
    for (const YAML::Node& one : switches) {
      if (!one.IsMap() || !one["switch"]) return Fail(one, "expected switch: NAME");
      const auto text = [&one](const char* key) {
        return one[key] ? one[key].as<std::string>() : std::string();
      };
      Result<void> added = builder_.AddSwitch(text("switch"), text("nodes"), text("children"),
                                              Place(name_, one.Mark()));
      if (!added) return added;
    }
    return {};
  }

  std::string name_;
  SlurmBuilder builder_;
};

}  // namespace

Result<SlurmTopology> ReadTopologyYaml(std::string_view text, const std::string& name) {
  if (text.size() > kLongestYaml) {
    return InputError(name, "larger than " + std::to_string(kLongestYaml) + " bytes");
  }
  try {
    return YamlReader(name).Read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& exception) {
    return InputError(Place(name, exception.mark), "is no topology.yaml: " + exception.msg);
  }
}

}  // namespace reshard
