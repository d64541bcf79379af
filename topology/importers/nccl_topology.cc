#include "topology/importers/nccl_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "topology/importers/nvlink_islands.h"
#include "topology/importers/quotation.h"
#include "topology/importers/xml_element.h"

namespace reshard {
namespace {

// Of the elements of a PCI tree within each other; real ones stay below ten.
constexpr int kDeepest = 64;
constexpr IntegerRange kDeviceNumber{0, 65535};
constexpr IntegerRange kComputeCapability{10, 9999};
constexpr IntegerRange kNumaNode{-1, 65535};
constexpr IntegerRange kLinkCount{0, 1024};
constexpr IntegerRange kMegabitsPerSecond{-1, 10'000'000};  // NCCL takes -1 for unknown, as we do
constexpr double kMegabitsPerGigabyte = 8000;

enum class Stage { kSystem, kUntoldCpu, kCpu, kBridge };

// An element that devices can hang below, and how far devices are that meet there.
struct Ancestor {
  int id = 0;
  Stage stage = Stage::kSystem;
};

using Ancestors = std::vector<Ancestor>;  // from the system down

struct GpuElement {
  DescribedGpu gpu;
  std::optional<std::int64_t> number;
  std::string bus;
  Ancestors ancestors;
  std::vector<std::string> nvlink_targets;
};

struct NicElement {
  DescribedNic nic;
  std::optional<std::int64_t> number;
  Ancestors ancestors;
};

struct Host {
  std::vector<GpuElement> gpus;      // gpu elements
  std::vector<NicElement> nics;      // net elements
  std::vector<GpuElement> pci_gpus;  // by class, for files without such elements
  std::vector<NicElement> pci_nics;
  bool coherent = false;
};

NicDistance Distance(const Ancestors& gpu, const Ancestors& nic) {
  std::size_t shared = 0;
  while (shared < gpu.size() && shared < nic.size() && gpu[shared].id == nic[shared].id) ++shared;
  if (shared == 0) return NicDistance::kSystem;
  switch (gpu[shared - 1].stage) {
    case Stage::kSystem:
    case Stage::kUntoldCpu:
      return NicDistance::kSystem;
    case Stage::kCpu:
      return NicDistance::kHostBridge;
    case Stage::kBridge:
      break;
  }
  const bool one_bridge = shared == gpu.size() && shared == nic.size();
  return one_bridge ? NicDistance::kOneBridge : NicDistance::kBridges;
}

// "32.0 GT/s PCIe" -> 32.
std::optional<double> LeadingNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value > 0)) return std::nullopt;
  return value;
}

// Walks the tree once and sorts what it finds by host.
class TreeReader {
 public:
  explicit TreeReader(const XmlDocument& document) : document_(document) {}

  Result<std::vector<std::pair<std::string, Host>>> Read() {
    const XmlElement system(document_, document_.root());
    if (system.name() != "system") {
      return system.Fail("expected the element system at the root of NCCL's topology");
    }
    Result<void> read = ReadChildren(system, {{next_id_++, Stage::kSystem}}, "", nullptr);
    if (!read) return tl::unexpected(read.error());
    return std::move(hosts_);
  }

 private:
  Host& HostOf(const std::string& hash) {
    const auto [entry, is_new] = host_indices_.try_emplace(hash, hosts_.size());
    if (is_new) hosts_.emplace_back(hash, Host());
    return hosts_[entry->second].second;
  }

  // `pci` is the innermost PCI device around, which is no ancestor yet; null where there is none.
  Result<void> ReadChildren(const XmlElement& parent, const Ancestors& ancestors,
                            const std::string& host, const XmlElement* pci) {
    if (++depth_ > kDeepest) {
      return parent.Fail("elements lie deeper than " + std::to_string(kDeepest));
    }
    for (const pugi::xml_node node : parent.node().children()) {
      if (node.type() != pugi::node_element) continue;
      Result<void> read = ReadElement(XmlElement(document_, node), ancestors, host, pci);
      if (!read) return read;
    }
    --depth_;
    return {};
  }

  Result<void> ReadElement(const XmlElement& element, const Ancestors& ancestors,
                           const std::string& host, const XmlElement* pci) {
    const std::string_view name = element.name();
    if (name == "cpu") return ReadCpu(element, ancestors);
    if (name == "pci") return ReadPci(element, ancestors, host, pci);
    if (name == "gpu") return ReadGpu(element, ancestors, host, pci);
    if (name == "nic") return ReadChildren(element, ancestors, host, pci);
    if (name == "net") return ReadNet(element, ancestors, host);
    return {};  // c2c, nvlink of no GPU, what later versions add
  }

  Result<void> ReadCpu(const XmlElement& cpu, Ancestors ancestors) {
    const Result<std::optional<std::int64_t>> numa = cpu.Integer("numaid", kNumaNode);
    if (!numa) return tl::unexpected(numa.error());
    const bool told = numa->value_or(-1) >= 0;
    ancestors.push_back({next_id_++, told ? Stage::kCpu : Stage::kUntoldCpu});
    const std::string host(cpu.Text("host_hash"));
    if (cpu.Text("arch") == "arm64") HostOf(host).coherent = true;
    return ReadChildren(cpu, ancestors, host, nullptr);
  }

  // A PCI device around another one is a bridge.
  Result<void> ReadPci(const XmlElement& element, Ancestors ancestors, const std::string& host,
                       const XmlElement* around) {
    if (around != nullptr) ancestors.push_back({bridge_ids_[around->node()], Stage::kBridge});
    bridge_ids_[element.node()] = next_id_++;
    const std::string_view pci_class = element.Text("class");
    if (pci_class.empty()) {
      return element.Fail("has no class", "write the file anew, or give it its class");
    }
    if (pci_class.starts_with("0x03") && IsNvidia(element)) {
      HostOf(host).pci_gpus.push_back(DescribeGpu(element, ancestors));
    } else if (pci_class.starts_with("0x02")) {
      const std::string bus(element.Text("busid"));
      HostOf(host).pci_nics.push_back({{bus, "", std::nullopt}, std::nullopt, ancestors});
    }
    return ReadChildren(element, ancestors, host, &element);
  }

  // Management controllers have a display class too; the input form may leave vendors out.
  static bool IsNvidia(const XmlElement& pci) {
    const std::string_view vendor = pci.Text("vendor");
    return vendor.empty() || vendor == "0x10de" || vendor == "0x0000" || vendor == "0xffff";
  }

  static GpuElement DescribeGpu(const XmlElement& pci, const Ancestors& ancestors) {
    GpuElement described;
    const std::string_view device = pci.Text("device");
    if (device != "0x0000" && device != "0xffff") described.gpu.device = device;
    described.gpu.pcie_gts = LeadingNumber(pci.Text("link_speed"));
    described.bus = pci.Text("busid");
    described.ancestors = ancestors;
    return described;
  }

  Result<void> ReadGpu(const XmlElement& element, const Ancestors& ancestors,
                       const std::string& host, const XmlElement* pci) {
    GpuElement described =
        pci != nullptr ? DescribeGpu(*pci, ancestors) : GpuElement{{}, {}, "", ancestors, {}};
    const Result<std::optional<std::int64_t>> sm = element.Integer("sm", kComputeCapability);
    if (!sm) return tl::unexpected(sm.error());
    const Result<std::optional<std::int64_t>> number = element.Integer("dev", kDeviceNumber);
    if (!number) return tl::unexpected(number.error());
    described.gpu.sm = *sm;
    described.number = *number;
    std::int64_t links = 0;
    for (const pugi::xml_node node : element.node().children("nvlink")) {
      const XmlElement nvlink(document_, node);
      const Result<std::optional<std::int64_t>> count = nvlink.Integer("count", kLinkCount);
      if (!count) return tl::unexpected(count.error());
      if (!count->has_value()) return nvlink.Fail("has no count");
      links += **count;
      if (**count > 0) described.nvlink_targets.emplace_back(nvlink.Text("target"));
    }
    described.gpu.nvlinks = links;
    if (links > kLinkCount.max) return element.Fail("has " + std::to_string(links) + " NVLinks");
    HostOf(host).gpus.push_back(std::move(described));
    return {};
  }

  Result<void> ReadNet(const XmlElement& element, const Ancestors& ancestors,
                       const std::string& host) {
    const Result<std::optional<std::int64_t>> speed = element.Integer("speed", kMegabitsPerSecond);
    if (!speed) return tl::unexpected(speed.error());
    const Result<std::optional<std::int64_t>> number = element.Integer("dev", kDeviceNumber);
    if (!number) return tl::unexpected(number.error());
    NicElement described;
    described.nic.name = element.Text("name");
    described.number = *number;
    described.ancestors = ancestors;
    if (speed->value_or(-1) > 0) {
      described.nic.line_gbps = static_cast<double>(**speed) / kMegabitsPerGigabyte;
    }
    HostOf(host).nics.push_back(std::move(described));
    return {};
  }

  const XmlDocument& document_;
  std::vector<std::pair<std::string, Host>> hosts_;  // by host_hash, in file order
  std::map<std::string, std::size_t> host_indices_;
  std::map<pugi::xml_node, int> bridge_ids_;
  int next_id_ = 0;
  int depth_ = 0;
};

// By device number where every element has one of its own, else as in the file.
template <typename Element>
bool SortByNumber(std::vector<Element>& elements) {
  std::vector<std::int64_t> numbers;
  for (const Element& element : elements) {
    if (!element.number) return false;
    numbers.push_back(*element.number);
  }
  std::sort(numbers.begin(), numbers.end());
  if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) return false;
  std::sort(elements.begin(), elements.end(),
            [](const Element& a, const Element& b) { return *a.number < *b.number; });
  return true;
}

std::vector<std::int32_t> Islands(const std::vector<GpuElement>& gpus) {
  const auto gpu_count = static_cast<std::int32_t>(gpus.size());
  std::map<std::string_view, std::int32_t> vertices;
  for (std::int32_t gpu = 0; gpu < gpu_count; ++gpu) vertices.try_emplace(gpus[gpu].bus, gpu);
  std::int32_t vertex_count = gpu_count;
  std::vector<std::pair<std::int32_t, std::int32_t>> links;
  for (std::int32_t gpu = 0; gpu < gpu_count; ++gpu) {
    for (const std::string& target : gpus[gpu].nvlink_targets) {
      const auto [entry, is_new] = vertices.try_emplace(target, vertex_count);
      if (is_new) ++vertex_count;
      links.emplace_back(gpu, entry->second);
    }
  }
  return NvlinkIslands(gpu_count, vertex_count, links);
}

Result<NodeDescription> Describe(const Host& host, std::string source) {
  NodeDescription node;
  node.source = std::move(source);
  node.coherent = host.coherent;
  std::vector<GpuElement> gpus = host.gpus.empty() ? host.pci_gpus : host.gpus;
  std::vector<NicElement> nics = host.nics.empty() ? host.pci_nics : host.nics;
  if (gpus.empty()) {
    return InputError(node.source,
                      "has no GPU: neither a gpu element nor a PCI device of class 0x03");
  }
  if (std::cmp_greater(std::max(gpus.size(), nics.size()), kMaxDevicesPerNode)) {
    return InputError(node.source, "has " + std::to_string(gpus.size()) + " GPUs and " +
                                       std::to_string(nics.size()) + " NICs in one node; " +
                                       std::to_string(kMaxDevicesPerNode) + " is the most");
  }
  const bool gpus_sorted = SortByNumber(gpus);
  const bool nics_sorted = SortByNumber(nics);
  if (!gpus_sorted || (!nics.empty() && !nics_sorted)) {
    node.assumptions.emplace_back(
        std::string(gpus_sorted   ? "NICs"
                    : nics_sorted ? "GPUs"
                                  : "GPUs and NICs") +
        " have no numbers of their own: numbered in the order of the file");
  }
  const std::vector<std::int32_t> islands = Islands(gpus);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].gpu.name = "GPU " + std::to_string(i);
    gpus[i].gpu.nvlink_island = gpus[i].gpu.nvlinks ? islands[i] : 0;
    std::vector<NicDistance>& distances = node.distances.emplace_back();
    for (const NicElement& nic : nics) {
      distances.push_back(Distance(gpus[i].ancestors, nic.ancestors));
    }
    node.gpus.push_back(std::move(gpus[i].gpu));
  }
  for (std::size_t i = 0; i < nics.size(); ++i) {
    nics[i].nic.number = std::to_string(i);
    if (nics[i].nic.name.empty()) nics[i].nic.name = "NIC" + nics[i].nic.number;
    node.nics.push_back(std::move(nics[i].nic));
  }
  return node;
}

}  // namespace

Result<std::vector<NodeDescription>> ReadNcclTopology(std::string_view text,
                                                      const std::string& name) {
  const Result<XmlDocument> document = XmlDocument::Parse(text, name);
  if (!document) return tl::unexpected(document.error());
  Result<std::vector<std::pair<std::string, Host>>> hosts = TreeReader(*document).Read();
  if (!hosts) return tl::unexpected(hosts.error());
  if (hosts->empty()) return InputError(name, "has no GPU: the element system is empty");
  // A host without GPUs holds what lies outside every cpu element, or a switch: of one host it is
  // that host's own.
  const auto has_gpus = [](const auto& entry) {
    return !entry.second.gpus.empty() || !entry.second.pci_gpus.empty();
  };
  const auto first = std::find_if(hosts->begin(), hosts->end(), has_gpus);
  if (std::count_if(hosts->begin(), hosts->end(), has_gpus) == 1) {
    for (auto& other : *hosts) {
      if (&other == &*first) continue;
      std::move(other.second.nics.begin(), other.second.nics.end(),
                std::back_inserter(first->second.nics));
      std::move(other.second.pci_nics.begin(), other.second.pci_nics.end(),
                std::back_inserter(first->second.pci_nics));
    }
    hosts = std::vector{std::move(*first)};
  }
  std::vector<NodeDescription> nodes;
  for (const auto& [hash, host] : *hosts) {
    Result<NodeDescription> node =
        Describe(host, hosts->size() == 1 ? name : name + ": host " + Quoted(hash));
    if (!node) return tl::unexpected(node.error());
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

}  // namespace reshard
