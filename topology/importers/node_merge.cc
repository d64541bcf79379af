#include "topology/importers/node_merge.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard {
namespace {

std::string_view WordOfNccl(NicDistance distance) {
  constexpr std::array<std::string_view, 4> kWords = {"PIX", "PXB", "PHB", "SYS"};
  return kWords[static_cast<std::size_t>(distance)];
}

// The matrix has a word more, for other host bridges of the NUMA node, which NCCL does not tell
// apart.
std::string_view WordOfSmi(NicDistance distance) {
  return distance == NicDistance::kHostBridge ? "PHB or NODE" : WordOfNccl(distance);
}

// The first of several equal contradictions, and how many there are.
class Contradictions {
 public:
  void Add(std::string first) {
    if (count_++ == 0) first_ = std::move(first);
  }

  void NoteInto(const std::string& holds, NodeDescription& node) const {
    if (count_ == 0) return;
    std::string line = first_;
    if (count_ > 1) line += ", and " + std::to_string(count_ - 1) + " more like it";
    node.assumptions.push_back(line + ": taken as in " + holds);
  }

 private:
  std::int64_t count_ = 0;
  std::string first_;
};

class NodeMerger {
 public:
  NodeMerger(const NodeDescription& nccl, const NodeDescription& smi)
      : nccl_(nccl), smi_(smi), merged_(nccl) {
    merged_.source = nccl.source + " with " + smi.source;
    merged_.coherent = nccl.coherent || smi.coherent;
    merged_.assumptions.insert(merged_.assumptions.end(), smi.assumptions.begin(),
                               smi.assumptions.end());
    merged_.assumptions.push_back(nccl.source + " and " + smi.source +
                                  " describe one node, GPUs by the same numbers");
  }

  NodeDescription Merge() {
    MergeNvlinks();
    if (nccl_.nics.empty()) {
      merged_.nics = smi_.nics;
      merged_.distances = smi_.distances;
    } else if (MatchNics()) {
      MergeDistances();
    }
    return std::move(merged_);
  }

 private:
  void MergeNvlinks() {
    Contradictions counts;
    Contradictions islands;
    const bool untold = std::ranges::none_of(
        nccl_.gpus, [](const DescribedGpu& gpu) { return gpu.nvlinks.value_or(0) > 0; });
    for (std::size_t gpu = 0; gpu < nccl_.gpus.size(); ++gpu) {
      DescribedGpu& merged = merged_.gpus[gpu];
      const DescribedGpu& shown = smi_.gpus[gpu];
      if (untold) {
        merged.nvlinks = shown.nvlinks;
        merged.nvlink_island = shown.nvlink_island;
        continue;
      }
      if (shown.nvlinks && merged.nvlinks != shown.nvlinks) {
        counts.Add(merged.name + " has " + std::to_string(merged.nvlinks.value_or(0)) +
                   " NVLinks in " + nccl_.source + " and " + std::to_string(*shown.nvlinks) +
                   " in " + smi_.source);
      }
      if (shown.nvlinks.value_or(0) > 0 && merged.nvlink_island != shown.nvlink_island) {
        islands.Add("NVLink joins " + merged.name + " to other GPUs in " + nccl_.source +
                    " than in " + smi_.source);
      }
    }
    counts.NoteInto(nccl_.source, merged_);
    islands.NoteInto(nccl_.source, merged_);
  }

  // Fills shown_as_; false where nothing says which NIC is which.
  bool MatchNics() {
    shown_as_.assign(nccl_.nics.size(), std::nullopt);
    std::string left_out;
    std::size_t matched = 0;
    for (std::size_t shown = 0; shown < smi_.nics.size(); ++shown) {
      const auto same = std::ranges::find(nccl_.nics, smi_.nics[shown].name, &DescribedNic::name);
      if (same == nccl_.nics.end()) {
        left_out += (left_out.empty() ? "" : ", ") + smi_.nics[shown].name;
        continue;
      }
      shown_as_[static_cast<std::size_t>(same - nccl_.nics.begin())] = shown;
      ++matched;
    }
    if (matched == 0 && smi_.nics.size() == nccl_.nics.size()) {
      for (std::size_t nic = 0; nic < shown_as_.size(); ++nic) shown_as_[nic] = nic;
      merged_.assumptions.push_back("NICs have other names in " + nccl_.source + " than in " +
                                    smi_.source + ": the same ones in the same order");
      return true;
    }
    if (!left_out.empty()) {
      merged_.assumptions.push_back("NICs that " + smi_.source + " shows and " + nccl_.source +
                                    " does not are left out: " + left_out);
    }
    return matched > 0;
  }

  // Whether the XML has the NIC nearer to some GPU than to others, or anything of its place.
  bool IsPlaced(std::size_t nic) const {
    return std::ranges::any_of(nccl_.distances, [&](const std::vector<NicDistance>& of_gpu) {
      return of_gpu[nic] != NicDistance::kSystem;
    });
  }

  void MergeDistances() {
    Contradictions distances;
    std::vector<bool> is_placed;
    for (std::size_t nic = 0; nic < nccl_.nics.size(); ++nic) is_placed.push_back(IsPlaced(nic));
    for (std::size_t gpu = 0; gpu < nccl_.gpus.size(); ++gpu) {
      for (std::size_t nic = 0; nic < nccl_.nics.size(); ++nic) {
        if (!shown_as_[nic]) continue;
        NicDistance& merged = merged_.distances[gpu][nic];
        const NicDistance shown = smi_.distances[gpu][*shown_as_[nic]];
        if (!is_placed[nic]) merged = shown;
        if (merged == shown) continue;
        distances.Add(nccl_.gpus[gpu].name + " to " + nccl_.nics[nic].name + " is " +
                      std::string(WordOfNccl(merged)) + " in " + nccl_.source + " and " +
                      std::string(WordOfSmi(shown)) + " in " + smi_.source);
      }
    }
    distances.NoteInto(nccl_.source, merged_);
  }

  const NodeDescription& nccl_;
  const NodeDescription& smi_;
  NodeDescription merged_;
  std::vector<std::optional<std::size_t>> shown_as_;  // [nic of nccl]: nic of smi
};

}  // namespace

Result<NodeDescription> MergeNode(const NodeDescription& nccl, const NodeDescription& smi) {
  if (nccl.gpus.size() != smi.gpus.size()) {
    return InputError(smi.source,
                      "shows " + std::to_string(smi.gpus.size()) + " GPUs, and " + nccl.source +
                          " " + std::to_string(nccl.gpus.size()),
                      "give files of one node, or of as many nodes by one tool");
  }
  return NodeMerger(nccl, smi).Merge();
}

}  // namespace reshard
