// The plan: a refit as data. See docs in README, "What is in a plan".
//
// A plan stores patterns, not rounds. A column is a byte range of a class that takes one path; its
// profile cuts it into chunks, and chunk k moves through each slot it passes in round
// `first_round + k`. A slot is a piece of one rank's staging with `depth` instances: in round r the
// rank uses instance r mod depth. Everything a rank does in round r follows from its slots and
// transfers, so a plan of ten rounds and one of ten thousand have the same size, and what holds for
// the pattern holds for every round.
//
//   pack lane,     step r: fills the instance r of every pack slot;
//   exchange lane, step r: one NCCL group, all transfers of round r that carry at least a byte;
//   unpack lane,   step r: copies what arrived in round r to the parameters that need it, does the
//                          local moves of round r and, in round `zero_round`, writes all zeros that
//                          the rank's destination layout declares.
//
// Steps of one lane run in order. A rank's `waits` order steps of different lanes. A step with
// nothing to do costs nothing but orders all the same: it ends no earlier than the step before it
// of its lane and the steps it waits for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/channel_hints.h"
#include "schedules/copy_program.h"
#include "schedules/demand.h"
#include "schedules/job_records.h"
#include "schedules/traffic.h"

namespace reshard {

using ColumnIndex = std::int32_t;
using ProfileIndex = std::int32_t;
using SlotIndex = std::int32_t;  // among the slots of one rank
using RoundIndex = std::int32_t;

// Chunk boundaries are multiples of this in a column's bytes, so that copies stay aligned.
inline constexpr std::int64_t kChunkAlignmentBytes = 16;

// How a column is cut into chunks: chunk k < n - 1 of a column of L bytes has
//   floor(L * weight_k / 2^32) bytes, rounded down to kChunkAlignmentBytes,
// and the last one the rest. Weights sum to at most 2^32.
struct Profile {
  std::vector<std::uint32_t> weights;
  bool operator==(const Profile&) const = default;
};

// Bytes [begin, end) of a class's stream.
struct Column {
  ClassIndex demand_class = 0;
  ProfileIndex profile = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Column&) const = default;
};

// A half-open byte range of a class's stream.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

// The bytes of chunk `chunk` of `column`, in its class's stream; empty outside [0, chunk count).
// Costs time proportional to `chunk`.
ByteRange ChunkRange(const Column& column, const Profile& profile, std::int64_t chunk);

// Its size alone, in constant time but for the last chunk.
std::int64_t ChunkBytes(const Column& column, const Profile& profile, std::int64_t chunk);

// First bytes of all chunks and, last, the column's end: chunk k is [starts[k], starts[k + 1]).
std::vector<std::int64_t> ChunkStarts(const Column& column, const Profile& profile);

// What `bytes` take in a slot.
inline std::int64_t AlignedBytes(std::int64_t bytes) {
  return (bytes + kChunkAlignmentBytes - 1) / kChunkAlignmentBytes * kChunkAlignmentBytes;
}

enum class SlotKind : std::uint8_t {
  kPack,     // filled by the pack lane
  kReceive,  // filled by the exchange lane
};

// Where a pack slot's item comes from: the rank's source parameters (slot == kFromParameters), or
// what it received earlier (a slot and an item of it, of the same column).
inline constexpr SlotIndex kFromParameters = -1;

struct SlotItem {
  ColumnIndex column = 0;
  RoundIndex first_round = 0;               // chunk k is in the instance of round first_round + k
  SlotIndex origin_slot = kFromParameters;  // pack slots only
  std::int32_t origin_item = 0;
  bool unpack = false;  // receive slots only: the unpack lane copies it to the rank's parameters
  bool operator==(const SlotItem&) const = default;
};

// In round r an instance holds the chunks of its items back to back, in the order of `items`; each
// starts at a multiple of kChunkAlignmentBytes (sizes rounded up).
struct Slot {
  SlotKind kind = SlotKind::kPack;
  std::int64_t offset = 0;    // of instance 0 in staging
  std::int64_t capacity = 0;  // bytes of one instance, a multiple of kChunkAlignmentBytes
  std::int32_t depth = 1;     // instance i begins at offset + i * capacity
  std::vector<SlotItem> items;
  bool operator==(const Slot&) const = default;
};

// A run of items of one slot: contiguous bytes in every round.
struct SlotRun {
  SlotIndex slot = 0;
  std::int32_t first_item = 0;
  std::int32_t item_count = 0;
  bool operator==(const SlotRun&) const = default;
};

// In every round r in which the run holds at least a byte, one send of `from` and one receive of
// `to`: the chunks of instance r - lag of the sender's run into instance r of the receiver's run.
// lag >= 1 if the sender's slot is a receive slot.
struct Transfer {
  RankIndex from = 0;
  RankIndex to = 0;
  std::int32_t lag = 0;
  SlotRun source;
  SlotRun destination;
  bool operator==(const Transfer&) const = default;
};

// A column copied from the rank's source parameters to its destination parameters; chunk k in the
// unpack step of round first_round + k.
struct LocalMove {
  ColumnIndex column = 0;
  RoundIndex first_round = 0;
  bool operator==(const LocalMove&) const = default;
};

enum class Lane : std::uint8_t { kPack, kExchange, kUnpack };
inline constexpr int kLaneCount = 3;

// Step r of `lane` starts after step r - lag of `on` has ended, for every r >= lag.
struct Wait {
  Lane lane = Lane::kPack;
  Lane on = Lane::kExchange;
  std::int32_t lag = 0;
  bool operator==(const Wait&) const = default;
};

// A rank that has no zeros to write.
inline constexpr RoundIndex kNoZeros = -1;

// What one rank does.
struct RankSchedule {
  std::vector<Slot> slots;
  std::vector<LocalMove> local_moves;
  std::vector<Wait> waits;
  RoundIndex zero_round = kNoZeros;
  bool operator==(const RankSchedule&) const = default;
};

// One term of the lower bound that binds, in words and numbers.
struct BoundWitness {
  double seconds = 0;
  std::string name;         // "LB2"
  std::string description;  // "domain 2 ingress: 673.2 GB over 64 NICs at 48 GB/s"
  bool operator==(const BoundWitness&) const = default;
};

// What the compiler vouches for; each number can be had again from the plan.
struct Certificate {
  BoundWitness lower_bound;
  double predicted_seconds = 0;
  std::string constants_digest;  // of the simulator's constants the prediction used
  std::int64_t staging_bytes_max = 0;
  std::int64_t ops_per_group_max = 0;
  std::int64_t peers_max = 0;
  bool operator==(const Certificate&) const = default;
};

// Things the summary lists and that no byte depends on.
struct Notices {
  std::vector<std::string> untouched;  // tensors of the model that neither side holds
  std::vector<std::string> lacking;    // "destination group 1 lacks 12 tensors: .."
  std::vector<std::string> recompute;  // "model.layers.{i}.self_attn.W_UV": derived after loading
  bool operator==(const Notices&) const = default;
};

struct Plan {
  std::string job_json;  // canonical text of the normalised job: cluster, model, layouts as written
  std::string job_digest;  // 32 hex digits of job_json's XXH3-128
  JobRecords job;
  Demand demand;
  std::vector<CopyProgram> programs;  // sorted by (layout, class), one per place of a layout
  std::vector<Profile> profiles;
  std::vector<Column> columns;
  std::vector<Transfer> transfers;      // sorted by (from, to, first active round)
  std::vector<RankSchedule> schedules;  // one per rank
  RoundIndex round_count = 0;
  ChannelHints channels;
  // Set in a simulation-only plan, which has no profiles, columns, transfers or rounds, and a
  // schedule without slots, moves and waits for each rank.
  std::optional<Traffic> traffic;
  Notices notices;
  Certificate certificate;
  bool operator==(const Plan&) const = default;
};

// Byte offset and size of item `item` in the instance of round `round`, and what it holds.
struct ItemPlacement {
  std::int64_t offset = 0;  // within the instance
  ByteRange bytes;          // of the class's stream; empty if the item carries nothing that round
};
// Placements of all items of `slot` in round `round`.
std::vector<ItemPlacement> PlaceItems(const Slot& slot, RoundIndex round,
                                      const std::vector<Column>& columns,
                                      const std::vector<Profile>& profiles);

// Bytes `run` occupies in round `round` (of the slot's own numbering), each item's size rounded up:
// what a transfer of the run carries. 0 if and only if no item carries a byte.
std::int64_t RunBytes(const Slot& slot, const SlotRun& run, RoundIndex round,
                      const std::vector<Column>& columns, const std::vector<Profile>& profiles);

// The rounds from the first to the last in which a slot's item carries anything: [first, last),
// last = first if none. A short column may have rounds of no byte in between.
struct RoundRange {
  RoundIndex first = 0;
  RoundIndex last = 0;
};
RoundRange ActiveRounds(const SlotItem& item, const std::vector<Column>& columns,
                        const std::vector<Profile>& profiles);

}  // namespace reshard
