// A cluster as resources that flows share, and the path of bytes from GPU to GPU over them.
//
// Resources: NIC out and in, NVLink out and in per GPU, HBM per GPU, what a rail may send to and
// take from other rails, what a switch's domains may send out and take in. NICs of one rail that
// serve the same GPUs are one resource, as NCCL spreads a transfer over a GPU's channels and these
// over its NICs; where a GPU has NICs of several kinds its bytes are split in proportion to its
// part of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "simulator/constants.h"
#include "simulator/flow_engine.h"
#include "simulator/flow_table.h"
#include "topology/cluster.h"

namespace reshard {

// How bytes get from one GPU to another.
struct FlowPath {
  std::vector<ResourceShare> shares;
  double cap_gbps = kUncapped;
  double channel_gbps = kUncapped;  // of one channel; a message may have fewer than its peer
  Nanoseconds latency = 0;          // from the last byte's leaving to the end of both operations
  Nanoseconds ll_latency = 0;       // of a message that goes by protocol LL
};

// What moves the bytes of a path.
enum class Carrier : std::uint8_t {
  kPeerChannels,  // an NCCL send and receive: the channels of the peer, PXN
  kAllChannels,   // a collective or a kernel's own stores
};

Nanoseconds NanosecondsOf(double microseconds);

class Machine {
 public:
  // Keeps a reference to `cluster`. `nic_share` (0, 1] scales every NIC and what is derived from
  // NICs. `channels_per_peer`: peer_channels.h. `relays`: GPUs that NCCL may relay over (PXN),
  // those of ranks, ascending.
  Machine(const Cluster& cluster, const Constants& constants, double nic_share,
          std::int64_t channels_per_peer, std::span<const GpuIndex> relays = {});

  std::int64_t channels_per_peer() const { return channels_per_peer_; }

  // GB/s per resource.
  std::span<const double> capacities() const { return capacities_; }

  // Over NVLink within a domain, over NICs between domains. Fails, naming the GPU or NIC, where the
  // bytes have no way. Precondition: the GPUs exist and differ.
  //
  // A send to another rail leaves, where it can, by the NICs of a relay (PXN): the GPU that has the
  // receiver's place in the sender's own node. Its bytes pass NVLink out of the sender and into
  // the relay, and then stay on the receiver's rail, whatever Fabric::rail_crossing allows.
  Result<FlowPath> PathBetween(GpuIndex from, GpuIndex to,
                               Carrier carrier = Carrier::kPeerChannels) const;
  // The HBM of `gpu`, used by copies: each byte copied is read and written.
  Result<FlowPath> CopyPath(GpuIndex gpu) const;

  ResourceIndex NvlinkOut(GpuIndex gpu) const { return nvlink_ + 2 * gpu; }
  ResourceIndex NvlinkIn(GpuIndex gpu) const { return nvlink_ + 2 * gpu + 1; }
  ResourceIndex Hbm(GpuIndex gpu) const { return hbm_ + gpu; }
  // The resource that `nic` is a part of, and its part of that resource's rate.
  ResourceIndex NicOut(NicIndex nic) const;
  ResourceIndex NicIn(NicIndex nic) const { return NicOut(nic) + 1; }
  double NicPart(NicIndex nic) const;
  double NicRate(NicIndex nic) const;
  // Fabric resources and their names, in order.
  ResourceIndex first_fabric() const { return fabric_; }
  std::string FabricName(ResourceIndex resource) const;

 private:
  // NICs of one rail that serve the same GPUs.
  struct NicSet {
    std::int32_t rail = 0;
    double gbps = 0;
  };
  // A GPU's part of a NicSet: `fraction` of its bytes go that way.
  struct NicUse {
    std::int32_t nic_set = 0;
    std::int32_t rail = 0;
    double fraction = 0;
  };

  void AddNics(double nic_share);
  void AddFabric();
  std::span<const NicUse> NicsOf(GpuIndex gpu) const;
  // Of the bytes from GPU to GPU, those that stay on one rail.
  double AlignedPart(GpuIndex from, GpuIndex to) const;
  GpuIndex RelayOf(GpuIndex from, GpuIndex to) const;  // `from` where there is none
  Result<FlowPath> PathInside(GpuIndex from, GpuIndex to, Carrier carrier) const;
  Result<void> Route(GpuIndex from, GpuIndex to, FlowPath& path) const;
  void AddSwitches(DomainIndex from, DomainIndex to, FlowPath& path) const;
  void AddShare(ResourceIndex resource, double share, FlowPath& path) const;

  const Cluster& cluster_;
  const Constants constants_;
  std::vector<NicSet> nic_sets_;
  std::vector<std::int32_t> set_of_nic_;
  std::vector<NicUse> nic_uses_;              // GPU by GPU
  std::vector<std::size_t> nic_use_ends_;     // per GPU
  std::vector<std::int32_t> rails_;           // distinct, ascending
  std::vector<std::vector<char>> in_switch_;  // per switch, per domain
  double nic_share_ = 1;
  std::int64_t channels_per_peer_ = 1;
  std::vector<GpuIndex> first_of_node_;  // per GPU: the first of its node
  std::vector<char> is_relay_;           // per GPU
  // First resources of each kind; NIC sets begin at 0.
  ResourceIndex nvlink_ = 0;
  ResourceIndex hbm_ = 0;
  ResourceIndex fabric_ = 0;
  std::vector<double> capacities_;
};

}  // namespace reshard
