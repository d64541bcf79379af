#include "schedules/plan_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "schedules/carried_bytes.h"
#include "schedules/number_text.h"
#include "schedules/rank_part.h"

namespace reshard {
namespace {

constexpr std::size_t kNamed = 8;  // of things that differ, each on a line of its own

class Differences {
 public:
  void Add(std::string what, std::string left, std::string right) {
    if (left != right) found_.push_back({std::move(what), std::move(left), std::move(right)});
  }
  // For values whose text does not tell all: `differ` decides.
  void AddIf(bool differ, std::string what, std::string left, std::string right) {
    if (differ) found_.push_back({std::move(what), std::move(left), std::move(right)});
  }
  std::vector<PlanDifference> Take() { return std::move(found_); }

 private:
  std::vector<PlanDifference> found_;
};

std::string TensorText(const Tensor& tensor) {
  return fmt::format("{} {}", Name(tensor.dtype), ShapeText(tensor.shape));
}

// Both sides' tensors ascend by name.
void DiffTensors(const JobRecords& left, const JobRecords& right, Differences& differences) {
  differences.Add("tensors", CountText(static_cast<std::int64_t>(left.tensors.size())),
                  CountText(static_cast<std::int64_t>(right.tensors.size())));
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t found = 0;
  while (a < left.tensors.size() || b < right.tensors.size()) {
    const bool only_left =
        b == right.tensors.size() ||
        (a < left.tensors.size() && left.tensors[a].name < right.tensors[b].name);
    const bool only_right =
        !only_left && (a == left.tensors.size() || right.tensors[b].name < left.tensors[a].name);
    const std::string on_left = only_right ? "none" : TensorText(left.tensors[a]);
    const std::string on_right = only_left ? "none" : TensorText(right.tensors[b]);
    if (on_left != on_right && found++ < kNamed) {
      const std::string& name = only_right ? right.tensors[b].name : left.tensors[a].name;
      differences.Add(fmt::format("tensor \"{}\"", name), on_left, on_right);
    }
    if (!only_right) ++a;
    if (!only_left) ++b;
  }
  if (found > kNamed) {
    differences.Add("more tensors that differ", "",
                    CountText(static_cast<std::int64_t>(found - kNamed)));
  }
}

void DiffOptions(const Options& left, const Options& right, Differences& differences) {
  differences.Add("planner", left.planner, right.planner);
  differences.Add("staging limit", CountText(left.staging_bytes) + " B",
                  CountText(right.staging_bytes) + " B");
  differences.Add("chunk limit", CountText(left.chunk_bytes) + " B",
                  CountText(right.chunk_bytes) + " B");
  differences.Add("operations allowed in an NCCL group", CountText(left.max_ops_per_group),
                  CountText(right.max_ops_per_group));
  differences.Add("peers allowed", CountText(left.max_peers), CountText(right.max_peers));
  differences.Add("share of NICs", fmt::format("{}", left.nic_share),
                  fmt::format("{}", right.nic_share));
}

std::string PlaceText(const Rank& rank) {
  return fmt::format("GPU {}, domain {}, source layout {}, destination layout {}", rank.gpu,
                     rank.domain, rank.source_layout, rank.destination_layout);
}

void DiffJob(const Plan& left, const Plan& right, Differences& differences) {
  differences.Add("digest of the job", left.job_digest, right.job_digest);
  DiffOptions(left.job.options, right.job.options, differences);
  DiffTensors(left.job, right.job, differences);
  differences.AddIf(left.job.layouts != right.job.layouts, "layouts",
                    CountText(static_cast<std::int64_t>(left.job.layouts.size())),
                    CountText(static_cast<std::int64_t>(right.job.layouts.size())));
  differences.Add("ranks", CountText(static_cast<std::int64_t>(left.job.ranks.size())),
                  CountText(static_cast<std::int64_t>(right.job.ranks.size())));
  std::size_t found = 0;
  const std::size_t common = std::min(left.job.ranks.size(), right.job.ranks.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (left.job.ranks[i] == right.job.ranks[i] || found++ >= kNamed) continue;
    differences.Add(fmt::format("place of rank {}", i), PlaceText(left.job.ranks[i]),
                    PlaceText(right.job.ranks[i]));
  }
  if (found > kNamed) {
    differences.Add("more ranks at another place", "",
                    CountText(static_cast<std::int64_t>(found - kNamed)));
  }
}

// What identifies a class in any plan: who holds and who needs it.
std::map<std::pair<std::string, std::string>, std::int64_t> ClassVolumes(const Demand& demand) {
  std::map<std::pair<std::string, std::string>, std::int64_t> volumes;
  for (const DemandClass& one : demand.classes) {
    volumes[{RangesText(demand.Holders(one)), RangesText(demand.Needers(one))}] += one.bytes;
  }
  return volumes;
}

void DiffDemand(const Demand& left, const Demand& right, Differences& differences) {
  differences.Add("fragments", CountText(left.fragments.size()), CountText(right.fragments.size()));
  differences.Add("classes", CountText(static_cast<std::int64_t>(left.classes.size())),
                  CountText(static_cast<std::int64_t>(right.classes.size())));
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>> both;
  for (const auto& [ranks, bytes] : ClassVolumes(left)) both[ranks].first = bytes;
  for (const auto& [ranks, bytes] : ClassVolumes(right)) both[ranks].second = bytes;
  std::size_t found = 0;
  for (const auto& [ranks, bytes] : both) {
    if (bytes.first == bytes.second || found++ >= kNamed) continue;
    differences.Add(fmt::format("class from {} to {}", ranks.first, ranks.second),
                    CountText(bytes.first) + " B", CountText(bytes.second) + " B");
  }
  if (found > kNamed) {
    differences.Add("more classes that differ", "",
                    CountText(static_cast<std::int64_t>(found - kNamed)));
  }
}

std::vector<std::int64_t> BytesSent(const Plan& plan) {
  std::vector<std::int64_t> sent(plan.job.ranks.size(), 0);
  for (const CarriedBytes& carried : ListCarriedBytes(plan)) {
    sent[static_cast<std::size_t>(carried.from)] += carried.bytes;
  }
  return sent;
}

void DiffSchedule(const Plan& left, const Plan& right, Differences& differences) {
  differences.Add("rounds", CountText(left.round_count), CountText(right.round_count));
  differences.Add("columns", CountText(static_cast<std::int64_t>(left.columns.size())),
                  CountText(static_cast<std::int64_t>(right.columns.size())));
  differences.Add("transfers", CountText(static_cast<std::int64_t>(left.transfers.size())),
                  CountText(static_cast<std::int64_t>(right.transfers.size())));
  const std::vector<std::int64_t> sent_left = BytesSent(left);
  const std::vector<std::int64_t> sent_right = BytesSent(right);
  const auto text = [](const Plan& plan, const std::vector<std::int64_t>& sent, std::size_t rank) {
    return fmt::format("sends {}, staging {}", BytesText(sent[rank]),
                       BytesText(StagingBytes(plan.schedules[rank])));
  };
  std::size_t found = 0;
  for (std::size_t i = 0; i < std::min(sent_left.size(), sent_right.size()); ++i) {
    const bool differ = sent_left[i] != sent_right[i] || left.schedules[i] != right.schedules[i];
    if (!differ || found++ >= kNamed) continue;
    differences.AddIf(true, fmt::format("schedule of rank {}", i), text(left, sent_left, i),
                      text(right, sent_right, i));
  }
  if (found > kNamed) {
    differences.Add("more ranks with another schedule", "",
                    CountText(static_cast<std::int64_t>(found - kNamed)));
  }
}

void DiffChannels(const ChannelHints& left, const ChannelHints& right, Differences& differences) {
  differences.Add("maxP2pPeers", CountText(left.max_p2p_peers), CountText(right.max_p2p_peers));
  differences.Add("nChannelsPerNetPeer", CountText(left.channels_per_net_peer),
                  CountText(right.channels_per_net_peer));
}

void DiffCertificate(const Certificate& left, const Certificate& right, Differences& differences) {
  const auto bound = [](const BoundWitness& witness) {
    return fmt::format("{} by {}: {}", SecondsText(witness.seconds), witness.name,
                       witness.description);
  };
  differences.Add("lower bound", bound(left.lower_bound), bound(right.lower_bound));
  differences.Add("predicted time", SecondsText(left.predicted_seconds),
                  SecondsText(right.predicted_seconds));
  differences.Add("digest of the simulator's constants", left.constants_digest,
                  right.constants_digest);
  differences.Add("staging", CountText(left.staging_bytes_max) + " B",
                  CountText(right.staging_bytes_max) + " B");
  differences.Add("operations in an NCCL group", CountText(left.ops_per_group_max),
                  CountText(right.ops_per_group_max));
  differences.Add("peers", CountText(left.peers_max), CountText(right.peers_max));
}

}  // namespace

std::vector<PlanDifference> DiffPlans(const Plan& left, const Plan& right) {
  if (left == right) return {};
  Differences differences;
  DiffJob(left, right, differences);
  DiffDemand(left.demand, right.demand, differences);
  DiffSchedule(left, right, differences);
  DiffChannels(left.channels, right.channels, differences);
  DiffCertificate(left.certificate, right.certificate, differences);
  std::vector<PlanDifference> found = differences.Take();
  if (found.empty()) {
    // All that has a line above is equal: what is left are numbers of single rows.
    found.push_back(
        {"rows of tables (regions, fragments, programs, columns, transfers)", "these", "others"});
  }
  return found;
}

std::string Text(const std::vector<PlanDifference>& differences) {
  if (differences.empty()) return "the plans are equal\n";
  std::string text;
  for (const PlanDifference& one : differences) {
    text += one.left.empty() ? fmt::format("{}: {}\n", one.what, one.right)
                             : fmt::format("{}: {} -> {}\n", one.what, one.left, one.right);
  }
  return text;
}

}  // namespace reshard
