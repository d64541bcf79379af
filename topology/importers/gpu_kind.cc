#include "topology/importers/gpu_kind.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "foundation/nearest_name.h"
#include "topology/builtin_types.h"
#include "topology/importers/quotation.h"

namespace reshard {
namespace {

// What the GPUs of a built-in type look like from outside. Compute capabilities and PCI devices are
// commonly known (pci.ids); NVLinks of a GPU from NCCL 2.30 graph/topo.h (12 x 20, 18 x 20.6,
// 18 x 40.1 GB/s), of VR200 36 by its two halves.
struct Signature {
  std::string_view type;
  std::int64_t sm;
  bool coherent;
  std::int64_t nvlinks;
  double pcie_gts;
  std::array<std::string_view, 3> devices;
};

// Where several fit, the first is taken, and said so.
constexpr std::array<Signature, 7> kSignatures = {{
    {"dgx-a100", 80, false, 12, 16, {"0x20b0", "0x20b2", "0x20b3"}},
    {"dgx-h100", 90, false, 18, 32, {"0x2330", "0x2339", ""}},
    {"dgx-h200", 90, false, 18, 32, {"0x2335", "", ""}},
    {"dgx-b200", 100, false, 18, 32, {"0x2901", "", ""}},
    {"gb200-nvl72", 100, true, 18, 32, {"0x2941", "", ""}},
    {"gb300-nvl72", 103, true, 18, 64, {"0x31c2", "", ""}},
    {"vr200-nvl72", 107, true, 36, 64, {"", "", ""}},
}};

const Signature* SignatureOf(std::string_view type) {
  const auto found = std::find_if(kSignatures.begin(), kSignatures.end(),
                                  [&](const Signature& one) { return one.type == type; });
  return found == kSignatures.end() ? nullptr : &*found;
}

struct Recognised {
  const Signature* signature = nullptr;
  std::string because;  // empty: certain
};

// The first type that fits `fits` and has the node's coherence.
template <typename Fits>
Recognised First(bool coherent, const std::string& evidence, Fits fits) {
  Recognised first;
  std::string others;
  for (const Signature& one : kSignatures) {
    if (one.coherent != coherent || !fits(one)) continue;
    if (first.signature == nullptr) {
      first.signature = &one;
    } else {
      others += (others.empty() ? "" : " or ") + std::string(one.type);
    }
  }
  if (first.signature == nullptr) return first;
  first.because = "the GPUs are those of " + std::string(first.signature->type) + ", by " +
                  evidence + (others.empty() ? "" : "; they may be of " + others);
  return first;
}

Recognised Recognise(const DescribedGpu& gpu, bool coherent) {
  if (!gpu.device.empty()) {
    for (const Signature& one : kSignatures) {
      if (std::find(one.devices.begin(), one.devices.end(), gpu.device) != one.devices.end()) {
        return {&one, ""};
      }
    }
  }
  if (gpu.sm) {
    const std::string evidence = "sm " + std::to_string(*gpu.sm);
    const auto fits = [&](const Signature& one) { return one.sm == *gpu.sm; };
    const Recognised first = First(coherent, evidence, fits);
    // Grace with a Hopper has no built-in type of its own; the GPU is that of the boxes.
    return first.signature == nullptr && coherent ? First(false, evidence, fits) : first;
  }
  if (gpu.nvlinks.value_or(0) > 0) {
    return First(coherent, std::to_string(*gpu.nvlinks) + " NVLinks",
                 [&](const Signature& one) { return one.nvlinks == *gpu.nvlinks; });
  }
  if (gpu.pcie_gts) {
    const auto rate = static_cast<std::int64_t>(*gpu.pcie_gts);
    return First(coherent, "PCIe of " + std::to_string(rate) + " GT/s",
                 [&](const Signature& one) { return one.pcie_gts == *gpu.pcie_gts; });
  }
  return {};
}

// The GPU that shows most: the others may have lost NVLinks.
const DescribedGpu& BestConnected(const NodeDescription& node) {
  return *std::max_element(node.gpus.begin(), node.gpus.end(),
                           [](const DescribedGpu& a, const DescribedGpu& b) {
                             return a.nvlinks.value_or(0) < b.nvlinks.value_or(0);
                           });
}

}  // namespace

Result<GpuKind> RecogniseGpus(const NodeDescription& node, const std::string& said) {
  Recognised recognised;
  if (!said.empty()) {
    recognised.signature = SignatureOf(said);
    if (recognised.signature == nullptr) {
      return tl::unexpected(Error{Fault::kUsage, "--type", Quoted(said) + " is no built-in type",
                                  SuggestName(said, BuiltinTypeNames())});
    }
  } else {
    const DescribedGpu& best = BestConnected(node);
    recognised = Recognise(best, node.coherent);
    for (const DescribedGpu& gpu : node.gpus) {
      if (gpu.device == best.device && gpu.sm == best.sm) continue;
      return InputError(node.source, gpu.name + " and " + best.name + " are of different kinds",
                        "describe nodes whose GPUs are alike");
    }
    if (recognised.signature == nullptr) {
      return InputError(node.source,
                        "does not tell which GPUs these are, nor their NVLink and HBM rates",
                        "name the built-in type that has the same, for example --type dgx-h100");
    }
  }
  GpuKind kind;
  kind.type = *BuiltinType(recognised.signature->type);
  kind.nvlinks = recognised.signature->nvlinks;
  if (!recognised.because.empty()) {
    kind.assumptions.push_back(recognised.because + " (--type says otherwise)");
  }
  return kind;
}

std::int64_t NvlinksOfType(std::string_view type_name) {
  const Signature* signature = SignatureOf(type_name);
  return signature == nullptr ? 0 : signature->nvlinks;
}

std::int64_t NodesPerDomain(const DomainType& type) {
  return CeilDivide(type.gpu_count, type.gpus_per_node);
}

}  // namespace reshard
