// Whether the ranks of a job sit where the plan believes: what each says of itself, compared.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "foundation/error.h"
#include "schedules/rank_part.h"

namespace reshard {

using Uuid = std::array<std::uint8_t, 16>;  // all zero: unknown

// Where this process and its GPU really are.
struct MachineFacts {
  std::string host;  // equal for two ranks if and only if they run on one machine
  Uuid gpu = {};
  // Of the GPUs of the machine that this one reaches over NVLink, itself included, the one with the
  // least UUID. Zero where that is not known.
  Uuid island = {};
  // NVLink beyond one machine: equal for GPUs that reach each other over it. Zero where NVLink ends
  // at the machine.
  Uuid fabric_cluster = {};
  std::uint32_t fabric_clique = 0;
};

// Of the GPU with CUDA's number `device`. What the machine does not tell stays unknown.
Result<MachineFacts> ReadMachineFacts(int device);

// What a rank tells all others, as bytes that are sent.
struct RankFacts {
  std::uint32_t schema_version = 0;
  std::uint32_t is_source = 0;
  std::uint32_t is_destination = 0;
  std::int32_t node = 0;    // the plan's
  std::int32_t domain = 0;  // the plan's
  std::uint32_t fabric_clique = 0;
  std::array<char, 32> job_digest = {};
  std::array<char, 64> host = {};
  Uuid gpu = {};
  Uuid island = {};
  Uuid fabric_cluster = {};
};

RankFacts FactsOf(const RankPart& part, const MachineFacts& machine);

// Of all ranks, in their order. Fails naming the first rank that replays another plan than rank 0.
Result<void> CheckSamePlan(std::span<const RankFacts> ranks);

// Fails naming the first rank that does not sit where the plan believes, seen from the ranks before
// it: no two have one GPU; ranks of one node of the plan run on one host; ranks of one domain share
// a host or an NVLink fabric; ranks of different nodes run on different hosts, unless they are of
// different domains that are islands of NVLink on one host. A plan may divide what NVLink connects
// beyond a host: it uses less than there is.
Result<void> CheckPlacement(std::span<const RankFacts> ranks);

}  // namespace reshard
