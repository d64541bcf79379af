#include "simulator/domain_load.h"

#include <algorithm>

namespace reshard {
namespace {

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// One way of one domain: bytes and the bytes that could pass, over several resources.
class Share {
 public:
  explicit Share(std::size_t stretches) : bytes_(stretches) {}

  // `part` of `resource`.
  void Add(const Timeline& timeline, ResourceIndex resource, double part, double rate_gbps) {
    rate_gbps_ += part * rate_gbps;
    const std::vector<double>& passed = timeline.Bytes(resource);
    const std::size_t count = std::min(passed.size(), bytes_.size());
    for (std::size_t i = 0; i < count; ++i) bytes_[i] += part * passed[i];
  }

  std::vector<double> Take(std::int64_t stretch_ns) {
    const double possible = rate_gbps_ * static_cast<double>(stretch_ns);
    for (double& bytes : bytes_) bytes = possible > 0 ? bytes / possible : 0;
    return std::move(bytes_);
  }

 private:
  double rate_gbps_ = 0;
  std::vector<double> bytes_;
};

struct DomainShares {
  Share nic_out;
  Share nic_in;
  Share nvlink;
};

}  // namespace

std::vector<NicIndex> NicsOfRanks(std::span<const Rank> ranks, const Cluster& cluster) {
  std::vector<NicIndex> nics;
  for (const Rank& rank : ranks) {
    const std::vector<NicIndex>& own = cluster.gpus[At(rank.gpu)].nics;
    nics.insert(nics.end(), own.begin(), own.end());
  }
  std::sort(nics.begin(), nics.end());
  nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
  return nics;
}

std::vector<DomainLoad> DomainLoads(const Plan& plan, const Cluster& cluster,
                                    const Machine& machine, const Timeline& timeline,
                                    std::size_t stretches) {
  const Share none(stretches);
  std::vector<DomainShares> shares(cluster.domains.size(), {none, none, none});
  const std::span<const double> rates = machine.capacities();
  for (const NicIndex nic : NicsOfRanks(plan.job.ranks, cluster)) {
    DomainShares& domain = shares[At(cluster.nics[At(nic)].domain)];
    const double part = machine.NicPart(nic);
    const ResourceIndex out = machine.NicOut(nic);
    const ResourceIndex in = machine.NicIn(nic);
    domain.nic_out.Add(timeline, out, part, rates[At(out)]);
    domain.nic_in.Add(timeline, in, part, rates[At(in)]);
  }
  for (const Rank& rank : plan.job.ranks) {
    const ResourceIndex out = machine.NvlinkOut(rank.gpu);
    shares[At(cluster.gpus[At(rank.gpu)].domain)].nvlink.Add(timeline, out, 1, rates[At(out)]);
  }
  std::vector<DomainLoad> loads;
  for (DomainShares& domain : shares) {
    loads.push_back({domain.nic_out.Take(timeline.stretch()),
                     domain.nic_in.Take(timeline.stretch()),
                     domain.nvlink.Take(timeline.stretch())});
  }
  return loads;
}

}  // namespace reshard
