// Topology files of small machines, made for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reshard {

struct SampleNode {
  std::vector<std::int64_t> nvlinks;  // [GPU]; 0: the GPU has no nvlink element
  std::string sm = "90";
  std::string device = "0x2330";
  std::string speed = "400000";      // of every net; empty: left out
  std::vector<std::int32_t> nic_of;  // [GPU]: number of the net beside it; empty: the same
  std::string host;                  // host_hash
};

// NCCL's dump of a node in which every GPU shares a PCIe bridge with one NIC; the first half of the
// GPUs hangs on NUMA node 0, the rest on 1.
inline std::string CpusOf(const SampleNode& node) {
  std::string text;
  const std::size_t count = node.nvlinks.size();
  for (std::size_t gpu = 0; gpu < count; ++gpu) {
    const std::string number = std::to_string(gpu);
    const std::string nic = std::to_string(node.nic_of.empty() ? gpu : node.nic_of[gpu]);
    if (gpu == 0 || gpu == (count + 1) / 2) {
      text += "<cpu host_hash=\"" + node.host + "\" numaid=\"" + (gpu == 0 ? "0" : "1") +
              "\" arch=\"x86_64\">\n";
    }
    text += "<pci busid=\"bridge" + number + "\" class=\"0x060400\">\n";
    text += "<pci busid=\"nic" + nic + "\" class=\"0x020700\"><nic><net name=\"mlx5_" + nic +
            "\" dev=\"" + nic + "\"" + (node.speed.empty() ? "" : " speed=\"" + node.speed + "\"") +
            "/></nic></pci>\n";
    text += "<pci busid=\"gpu" + number + "\" class=\"0x030200\" vendor=\"0x10de\" device=\"" +
            node.device + "\"><gpu dev=\"" + number + "\"" +
            (node.sm.empty() ? "" : " sm=\"" + node.sm + "\"") + ">\n";
    // Spread over two switches.
    const std::int64_t links = node.nvlinks[gpu];
    if (links > 1) {
      text += "<nvlink target=\"switch1\" count=\"" + std::to_string(links / 2) + "\"/>\n";
    }
    if (links > 0) {
      text += "<nvlink target=\"switch0\" count=\"" + std::to_string(links - links / 2) + "\"/>\n";
    }
    text += "</gpu></pci></pci>\n";
    if (gpu + 1 == (count + 1) / 2 || gpu + 1 == count) text += "</cpu>\n";
  }
  return text;
}

inline std::string DumpOf(const SampleNode& node) {
  return "<system version=\"1\">\n" + CpusOf(node) + "</system>\n";
}

// A node of Grace and Blackwell: coherent links to the CPU, nets that have no PCI device.
inline constexpr std::string_view kCoherentDump = R"(<system version="1">
  <cpu numaid="0" arch="arm64" host_hash="0x7">
    <pci busid="0008:01:00.0" class="0x030200" vendor="0x10de" device="0x2941">
      <gpu dev="0" sm="100"><nvlink target="fffffff:ff:ff.0" count="18"/><c2c bw="44712" count="10"/></gpu>
    </pci>
    <pci busid="0009:01:00.0" class="0x030200" vendor="0x10de" device="0x2941">
      <gpu dev="1" sm="100"><nvlink target="fffffff:ff:ff.0" count="18"/><c2c bw="44712" count="10"/></gpu>
    </pci>
  </cpu>
  <cpu numaid="-1" arch="arm64" host_hash="0x7">
    <nic><net name="mlx5_0" dev="0" speed="400000"/></nic>
    <nic><net name="mlx5_1" dev="1" speed="400000"/></nic>
  </cpu>
</system>
)";

// The input form: two GPUs and one NIC on each of two bridges, nothing else told.
inline constexpr std::string_view kPciTree = R"(<!-- made for a platform -->
<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:10:1c.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0000:10:1d.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0000:10:1b.0" class="0x020000" link_speed="16 GT/s" link_width="16"/>
    </pci>
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:20:1c.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0000:20:1d.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0000:20:1b.0" class="0x020000" link_speed="16 GT/s" link_width="16"/>
    </pci>
  </cpu>
</system>
)";

// Two GPUs, three NICs of which the second serves the host.
inline constexpr std::string_view kSmiMatrix =
    "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV18\tPIX\tSYS\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\tSYS\tPXB\t56-111\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \tSYS\tSYS\t\t\t\n"
    "NIC1\tSYS\tSYS\tSYS\t X \tSYS\t\t\t\n"
    "NIC2\tSYS\tPXB\tSYS\tSYS\t X \t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond\n  NIC2: mlx5_3\n";

inline constexpr std::string_view kTreeConf =
    "# two leaves\nSwitchName=leaf0 Nodes=n[01-02]\nswitchname=leaf1 nodes=n[03-04]\n"
    "SwitchName=spine Switches=leaf[0-1] LinkSpeed=400\n";

inline constexpr std::string_view kBlockConf =
    "BlockName=rack1 Nodes=gb[001-003]\nBlockName=rack2 Nodes=gb[004-006]\nBlockSizes=2,4\n";

inline constexpr std::string_view kBlockYaml = R"(- topology: flat
  cluster_default: false
  flat: true
- topology: racks
  cluster_default: true
  block:
    block_sizes: [3, 6]
    blocks:
      - block: rack1
        nodes: gb[001-003]
      - block: rack2
        nodes: gb[004-006]
)";

inline constexpr std::string_view kTreeYaml = R"(- topology: fabric
  tree:
    switches:
      - switch: spine
        children: leaf[0-1]
      - switch: leaf0
        nodes: n[01-02]
      - switch: leaf1
        nodes: n[03-04]
)";

}  // namespace reshard
