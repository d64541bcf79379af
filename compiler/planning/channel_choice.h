// What a plan tells NCCL of its peers.
#pragma once

#include "compiler/bounds/rank_resources.h"
#include "schedules/cost_model.h"
#include "schedules/plan.h"

namespace reshard {

// The most ranks that any rank of `plan` exchanges with over its transfers.
std::int64_t CountPeers(const Plan& plan);

// Channels per network peer for a plan of ours: so many that one peer's can fill the NICs of any
// rank, a power of two. Not fewer, even where NCCL would halve them by the number of peers
// (schedules/channel_hints.h): with two in place of four the largest reference jobs take a third
// longer, as a rank sends to few network peers at a time. 0 if all ranks are in one domain. NVLink
// peers have the same number, which may be too few for them: the search over variants asks the cost
// model for more (compiler/planning/variant_search.h).
std::int64_t ChooseChannelsPerNetPeer(const RankResources& resources, const ChannelFacts& facts);

// What another planner's method runs with: it tells NCCL nothing, which then takes the ranks for
// peers and halves by its rule.
ChannelHints ChannelsByNccl(const RankResources& resources, const ChannelFacts& facts);

}  // namespace reshard
