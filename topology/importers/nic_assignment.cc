#include "topology/importers/nic_assignment.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "topology/importers/quotation.h"

namespace reshard {
namespace {

using Indices = std::vector<std::int32_t>;

// "mlx5_0, mlx5_1", or "GPU 0, GPU 1".
template <typename Device>
std::string NamesOf(const std::vector<Device>& devices, const Indices& indices) {
  constexpr std::size_t kMost = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(indices.size(), kMost); ++i) {
    names += (i == 0 ? "" : ", ") + devices[indices[i]].name;
  }
  if (indices.size() > kMost) names += ", .. (" + std::to_string(indices.size()) + " in all)";
  return names;
}

std::string_view Word(NicDistance distance) {
  switch (distance) {
    case NicDistance::kOneBridge:
      return "PIX";
    case NicDistance::kBridges:
      return "PXB";
    case NicDistance::kHostBridge:
      return "PHB";
    case NicDistance::kSystem:
      break;
  }
  return "SYS";
}

// GPUs that see the same nearest NICs, all equally far.
struct Neighbourhood {
  Indices gpus;
  Indices nics;
  NicDistance distance = NicDistance::kSystem;
};

class NicDealer {
 public:
  explicit NicDealer(const NodeDescription& node)
      : node_(node), serves_(node.nics.size()), said_of_(node.gpus.size(), false) {}

  Result<void> Say(const NicOfGpu& said) {
    const std::string place = "--nic-of " + std::to_string(said.gpu) + "=" + said.nic;
    if (said.gpu < 0 || std::cmp_greater_equal(said.gpu, node_.gpus.size())) {
      return Refuse(place, "there are only GPUs 0 to " + std::to_string(node_.gpus.size() - 1));
    }
    const auto nic =
        std::find_if(node_.nics.begin(), node_.nics.end(), [&](const DescribedNic& one) {
          return one.name == said.nic || one.number == said.nic || "NIC" + one.number == said.nic;
        });
    if (nic == node_.nics.end()) {
      return Refuse(place, "there is no such NIC in " + node_.source + ", which has " +
                               std::to_string(node_.nics.size()));
    }
    serves_[nic - node_.nics.begin()].insert(static_cast<std::int32_t>(said.gpu));
    said_of_[said.gpu] = true;
    return {};
  }

  Result<NicAssignment> Deal() {
    const std::vector<Neighbourhood> neighbourhoods = FindNeighbourhoods();
    // One neighbourhood of all that is far: the file tells nothing.
    const bool untold =
        std::all_of(neighbourhoods.begin(), neighbourhoods.end(),
                    [](const Neighbourhood& one) { return one.distance == NicDistance::kSystem; });
    for (const Neighbourhood& one : neighbourhoods) {
      Result<void> dealt = DealOut(one, untold);
      if (!dealt) return tl::unexpected(dealt.error());
    }
    Indices idle;
    for (std::size_t nic = 0; nic < serves_.size(); ++nic) {
      assignment_.gpus.emplace_back(serves_[nic].begin(), serves_[nic].end());
      if (serves_[nic].empty()) idle.push_back(static_cast<std::int32_t>(nic));
    }
    if (!idle.empty()) {
      assignment_.assumptions.push_back("NICs that serve no GPU are left out: " +
                                        NamesOf(node_.nics, idle) + " (--nic-of says otherwise)");
    }
    return std::move(assignment_);
  }

 private:
  static tl::unexpected<Error> Refuse(const std::string& place, std::string reason) {
    return tl::unexpected(Error{Fault::kUsage, place, std::move(reason), ""});
  }

  std::vector<Neighbourhood> FindNeighbourhoods() const {
    std::vector<Neighbourhood> found;
    std::map<Indices, std::size_t> by_nics;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      if (said_of_[gpu]) continue;
      Neighbourhood one = Nearest(gpu);
      if (one.nics.empty()) continue;
      const auto [entry, is_new] = by_nics.try_emplace(one.nics, found.size());
      if (is_new) found.push_back(std::move(one));
      found[entry->second].gpus.push_back(static_cast<std::int32_t>(gpu));
    }
    return found;
  }

  // A NIC that the user gave to other GPUs counts only where the file says that it is near.
  Neighbourhood Nearest(std::size_t gpu) const {
    const std::vector<NicDistance>& distances = node_.distances[gpu];
    Neighbourhood nearest;
    double fastest = 0;
    const auto better = [&](std::size_t nic) {
      const double rate = node_.nics[nic].line_gbps.value_or(0);
      if (nearest.nics.empty() || distances[nic] < nearest.distance) return true;
      return distances[nic] == nearest.distance && rate > fastest;
    };
    for (std::size_t nic = 0; nic < distances.size(); ++nic) {
      if (distances[nic] == NicDistance::kSystem && !serves_[nic].empty()) continue;
      const double rate = node_.nics[nic].line_gbps.value_or(0);
      if (better(nic)) {
        nearest.nics.clear();
        nearest.distance = distances[nic];
        fastest = rate;
      }
      if (distances[nic] == nearest.distance && rate == fastest) {
        nearest.nics.push_back(static_cast<std::int32_t>(nic));
      }
    }
    return nearest;
  }

  Result<void> DealOut(const Neighbourhood& one, bool untold) {
    const std::size_t gpus = one.gpus.size();
    const std::size_t nics = one.nics.size();
    const bool divides = gpus % nics == 0 || nics % gpus == 0;
    if (untold && !divides) {
      return InputError(node_.source,
                        "does not tell which of " + std::to_string(nics) + " NICs serve which of " +
                            std::to_string(gpus) + " GPUs: every path between them is SYS",
                        "say it, for example " + Example(one));
    }
    if (divides) {
      // Equal runs of the longer list meet the members of the shorter one.
      const std::size_t steps = std::max(gpus, nics);
      for (std::size_t step = 0; step < steps; ++step) {
        serves_[one.nics[step * nics / steps]].insert(one.gpus[step * gpus / steps]);
      }
    } else {
      for (const std::int32_t nic : one.nics) {
        serves_[nic].insert(one.gpus.begin(), one.gpus.end());
      }
    }
    Explain(one, untold, divides);
    return {};
  }

  void Explain(const Neighbourhood& one, bool untold, bool divides) {
    const std::string gpus = NamesOf(node_.gpus, one.gpus);
    const std::string nics = NamesOf(node_.nics, one.nics);
    if (untold && (one.gpus.size() > 1 || one.nics.size() > 1)) {
      assignment_.assumptions.push_back(
          "the file does not tell which NIC serves which GPU: " + nics + " dealt in order to " +
          gpus + " (--nic-of says otherwise)");
    } else if (one.gpus.size() > 1 && one.nics.size() > 1) {
      assignment_.assumptions.push_back(
          nics + " are equally near (" + std::string(Word(one.distance)) + ") to " + gpus + ": " +
          (divides ? "dealt in order" : "all serve all") + " (--nic-of says otherwise)");
    } else if (one.distance == NicDistance::kSystem && !untold) {
      assignment_.assumptions.push_back(gpus + " has no NIC nearer than SYS: served by " + nics +
                                        " (--nic-of says otherwise)");
    }
  }

  std::string Example(const Neighbourhood& one) const {
    std::string example = "--nic-of ";
    for (std::size_t i = 0; i < std::min(one.gpus.size(), std::size_t{4}); ++i) {
      example += (i == 0 ? "" : ",") + std::to_string(one.gpus[i]) + "=" +
                 node_.nics[one.nics[i % one.nics.size()]].name;
    }
    return example + (one.gpus.size() > 4 ? ",.." : "");
  }

  const NodeDescription& node_;
  std::vector<std::set<std::int32_t>> serves_;  // [nic]
  std::vector<bool> said_of_;                   // [gpu]
  NicAssignment assignment_;
};

}  // namespace

Result<NicAssignment> AssignNics(const NodeDescription& node, std::span<const NicOfGpu> said) {
  NicDealer dealer(node);
  for (const NicOfGpu& one : said) {
    if (Result<void> taken = dealer.Say(one); !taken) return tl::unexpected(taken.error());
  }
  return dealer.Deal();
}

}  // namespace reshard
