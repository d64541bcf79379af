// Rails as the planner sees them where the fabric limits what passes between domains: which rails a
// rank's NICs are on, which rails are alike in every domain, and what a hop from one to another
// takes of the fabric.
//
// Where there are many, rails that have the same NICs in every domain are one bundle: what enters
// or leaves a domain over it is dealt out evenly over its rails and stays on each. Where rails meet
// for free all of them are one.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "schedules/job_records.h"
#include "topology/cluster.h"

namespace reshard {

using BundleIndex = std::int32_t;
inline constexpr BundleIndex kNoBundle = -1;

// Something that bytes between domains pass and that has a rate: the NICs of a domain on a bundle
// one way, what may leave or enter a bundle's rails for others, a switch one way.
struct FabricUse {
  std::int32_t resource = 0;
  double share = 1;  // of the bytes that pass
};

class RailBundles {
 public:
  RailBundles(const JobRecords& job, const Cluster& cluster, const RankResources& resources);

  // Whether anything but NICs limits what passes between domains.
  bool limited() const { return limited_; }
  std::int32_t count() const { return static_cast<std::int32_t>(bundles_.size()); }
  // kNoBundle without a NIC at work.
  BundleIndex OfRank(RankIndex rank) const;
  // Ranks of equal number have NICs on the same rails, in the same proportion.
  std::int32_t RailSetOf(RankIndex rank) const { return rail_set_[static_cast<std::size_t>(rank)]; }

  BundleIndex OfRailSet(std::int32_t rail_set) const {
    return bundle_of_set_[static_cast<std::size_t>(rail_set)];
  }
  std::int32_t rail_set_count() const { return static_cast<std::int32_t>(rail_sets_.size()); }
  // The part that one rail set has of all its bundle carries.
  double PartOfSet(std::int32_t rail_set) const {
    return 1 / sets_in_bundle_[static_cast<std::size_t>(OfRailSet(rail_set))];
  }

  // GB/s of every resource.
  const std::vector<double>& rates() const { return rates_; }
  double Egress(DomainIndex domain, BundleIndex bundle) const {
    return rates_[static_cast<std::size_t>(EgressOf(domain, bundle))];
  }
  double Ingress(DomainIndex domain, BundleIndex bundle) const { return Egress(domain, bundle); }

  // Whether bytes can go from a rank of the one to one of the other at all, and whether some of
  // them cross between rails then.
  bool Meet(BundleIndex from, BundleIndex to) const { return Between(from, to).meet; }
  bool Crosses(BundleIndex from, BundleIndex to) const { return Between(from, to).crosses; }
  // What a hop between two domains takes.
  std::vector<FabricUse> UsesOf(DomainIndex from, BundleIndex out, DomainIndex to,
                                BundleIndex in) const;

 private:
  using RailShares = std::map<std::int32_t, double>;  // by rail; sum 1
  struct Pair {
    bool meet = true;
    bool crosses = false;
    double egress = 1;  // bytes that a NIC's rate must allow for per byte sent
    double ingress = 1;
    std::vector<FabricUse> spine;
  };

  void FindRailSets(const JobRecords& job, const Cluster& cluster, const RankResources& resources);
  void FindBundles(const Cluster& cluster, const RankResources& resources);
  void AddSpine(const JobRecords& job, const Cluster& cluster);
  void FindPairs(const Cluster& cluster);
  std::int32_t EgressOf(DomainIndex domain, BundleIndex bundle) const {
    return 2 * (domain * count() + bundle);
  }
  std::int32_t IngressOf(DomainIndex domain, BundleIndex bundle) const {
    return EgressOf(domain, bundle) + 1;
  }
  const Pair& Between(BundleIndex from, BundleIndex to) const {
    return pairs_[static_cast<std::size_t>(from * count() + to)];
  }

  bool limited_ = false;
  std::vector<std::int32_t> rail_set_;  // per rank, -1 without a NIC at work
  std::vector<RailShares> rail_sets_;
  std::vector<BundleIndex> bundle_of_set_;
  std::vector<RailShares> bundles_;
  std::vector<double> sets_in_bundle_;  // how many rail sets each has
  std::vector<double> rates_;
  std::map<std::int32_t, std::int32_t> spine_of_rail_;  // first of two resources
  std::vector<Pair> pairs_;
  std::vector<std::vector<bool>> in_switch_;  // per switch and domain
  std::int32_t first_switch_ = 0;             // resource
};

}  // namespace reshard
