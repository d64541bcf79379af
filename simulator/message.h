// How NCCL carries one message of a send and receive: over how many channels, by which protocol.
//
// Of 2.30.7, enqueue.cc (addP2pToPlan). Long messages use all channels of their peer, and no more
// has to be said of them than their peer's cap; short ones use fewer, and the shortest go by
// protocol LL, which has short hops and half the bandwidth.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "simulator/constants.h"
#include "simulator/flow_engine.h"

namespace reshard {

// What the messages of a plan have in common.
class MessageRules {
 public:
  // `channels_per_peer`: peer_channels.h.
  MessageRules(const Plan& plan, const Constants& constants, std::int64_t channels_per_peer);
  MessageRules() = default;

  // Channels that a message of `bytes` > 0 uses: as few as hold parts of a step, but so many as
  // leave some for all peers.
  std::int64_t Channels(std::int64_t bytes) const;
  // Whether it goes by LL.
  bool IsShort(std::int64_t bytes) const { return bytes <= ll_bytes_; }
  // What passes the links: LL adds a flag to each four bytes.
  std::int64_t WireBytes(std::int64_t bytes) const { return IsShort(bytes) ? 2 * bytes : bytes; }
  // Where all channels are in use from here on.
  std::int64_t long_bytes() const { return long_bytes_; }
  std::int64_t channels_per_peer() const { return channels_per_peer_; }

 private:
  std::int64_t channels_per_peer_ = 1;
  std::int64_t fewest_channels_ = 1;
  std::int64_t least_part_bytes_ = 1;
  std::int64_t most_part_bytes_ = 1;
  std::int64_t ll_bytes_ = 0;
  std::int64_t long_bytes_ = 0;
};

}  // namespace reshard
