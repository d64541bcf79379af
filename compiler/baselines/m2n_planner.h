// NCCL M2N's default method: one copy of each piece per group of domains, leaders, and a ring.
//
// Experts are stacked to [E, ..]. Each side of a tensor is a mesh of shards and replicas; source
// stage and destination stage are a communicator. Destination ranks are numbered in their mesh, D
// to a domain (D: the most of them in one NVLink domain); n: the number of domains.
//
//   Who serves whom. Rs, Rd replicas. Rs >= n: source replica i < n the destination replicas on
//   domain i. Else replica i the domains of part i of n split into Rs parts. In a job of more than
//   200 ranks injection is limited: s = max(1, n div Rd), but n where the destination's replicas
//   are the inner one of two axes longer than 1; J = 1 if s > 1, else min(Rs, Rd, 4);
//   K = min(J s, n); domain k < K is served by replica k div s, and with it k + K, k + 2 K, ..
//   Per destination shard d and its domains among those served, the first is the head. Source shard
//   s sends what d needs of it once, to the replica of d on the head that part s of d's source
//   shards, split over the replicas there, falls to: the leader. It stores to the other replicas on
//   its domain and forwards to the leader of the next.
//
// Per tensor: a turn of the host, a launch, two barriers, pack, all injections, the ring hop by
// hop, stores, unpack, each after the one before it. Name patterns follow each other with a host
// synchronisation between, which is why the communicators, parallel inside a pattern, are one
// stream here: the phases of a pattern repeat for each tensor of the communicator that has most,
// and the bytes of all communicators are spread evenly over the repeats.
//
// A leader passes strided pieces on chunk by chunk, into the ring and to the other replicas:
// stacked experts that are cut by tensor parallelism (nccl_m2n of November 2026,
// reshard_user_window.cu). What is one run of bytes, a ring of h hops (the injection is one) passes
// on whole, and begins the next one after that; but the c communicators are at different hops at a
// time. A round in which each passes on one tensor takes max(c, h) times as long as one hop of one
// of them: c jobs that go round h machines. The bytes of all take c of these, so what the pipeline
// waits for is h - c of them, shared out among its h - 1 fillings.
//
// Scales of dense weights ("*_scale_inv") go whole to every destination rank. It cannot express,
// and omits, tensors of more or less than 1 to 3 dims, cut along several dims of a side or
// unevenly, whose ranks are no mesh of two axes, with experts cut by tensor parallelism on the
// source, with more than 16 source shards per destination shard or 64 the other way.
#pragma once

#include "compiler/planner.h"

namespace reshard {

class M2nPlanner final : public Planner {
 public:
  std::string_view Name() const override { return "m2n"; }
  Result<void> MakeSchedule(const Job& job, const CostModel& cost_model, Plan& plan) const override;
};

}  // namespace reshard
