// What planners of simulation-only plans share: phases that add up while they are generated, and
// what of the demand a method covers.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/baselines/tensor_placements.h"
#include "schedules/plan.h"

namespace reshard {

// A phase in the making: flows of equal ends add up as they come, so that ten million pieces take
// as much memory as there are pairs of ranks.
class PhaseBuilder {
 public:
  // Bytes of `operations` sends. A flow from a rank to itself is not one and is left out. Flows of
  // equal ends keep the first one's hop.
  void AddFlow(RankIndex from, RankIndex to, std::int64_t bytes, std::int64_t operations,
               std::int32_t hop = 0);
  void AddPack(RankIndex rank, std::int64_t bytes) { CopyOf(rank).packed_bytes += bytes; }
  void AddUnpack(RankIndex rank, std::int64_t bytes) { CopyOf(rank).unpacked_bytes += bytes; }
  bool empty() const { return flows_.empty() && copies_.empty(); }

  // Moves flows and copies into `phase`, in their order, and leaves the builder empty.
  void MoveInto(TrafficPhase& phase);

 private:
  TrafficCopy& CopyOf(RankIndex rank);

  std::unordered_map<std::uint64_t, TrafficFlow> flows_;  // by ends; sorted before they leave
  std::vector<TrafficCopy> copies_;                       // by rank; of no bytes where none
};

// The most scratch memory that each rank needs at a time.
class StagingMeter {
 public:
  explicit StagingMeter(std::size_t ranks) : peaks_(ranks) {}
  // A phase buffers all it packs and unpacks, once per repeat.
  void AddPhase(const TrafficPhase& phase);
  void AtLeast(RankIndex rank, std::int64_t bytes);
  const std::vector<std::int64_t>& peaks() const { return peaks_; }

 private:
  std::vector<std::int64_t> peaks_;
};

// Which tensors a method leaves out, and why.
class CoverageBuilder {
 public:
  explicit CoverageBuilder(const JobRecords& job) : omitted_(job.tensors.size()) {}
  // The first reason given for a tensor counts.
  void Omit(const PlacedTensors& placed, const std::string& reason);
  bool IsOmitted(TensorIndex tensor) const {
    return !omitted_[static_cast<std::size_t>(tensor)].empty();
  }
  // Fills class_bytes and omissions.
  void Finish(const Demand& demand, Traffic& traffic) const;

 private:
  std::vector<std::string> omitted_;  // the reason, per tensor
};

// Fills a plan whose traffic is `traffic`: what a simulation-only plan has besides it.
void SetTraffic(Traffic traffic, Plan& plan);

// The traffic of several communicators.
Traffic OfStreams(std::vector<TrafficStream> streams, const StagingMeter& staging,
                  const CoverageBuilder& coverage, const Plan& plan);

// The traffic of one communicator.
Traffic OneStream(TrafficStream stream, const StagingMeter& staging,
                  const CoverageBuilder& coverage, const Plan& plan);

// All of `group` as one NCCL group, launched once.
Traffic OnePhase(PhaseBuilder group, const CoverageBuilder& coverage, const Plan& plan);

// NCCL passes the bytes of a ring or chain on in steps of this over NVLink (field notes, section
// 2).
inline constexpr std::int64_t kRingStepBytes = std::int64_t{512} << 10;

// Part i of n items split into p contiguous parts, the first n mod p of them one larger.
struct ItemRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
ItemRange DivideRange(std::int64_t items, std::int64_t parts, std::int64_t part);
// The part that an item is in.
std::int64_t PartOf(std::int64_t item, std::int64_t items, std::int64_t parts);

}  // namespace reshard
