// What a picture draws of a cluster: its domains one by one, or alike ones together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/drawing/domain_traffic.h"

namespace reshard {

// More domains than this are not drawn one by one.
inline constexpr std::size_t kMaxDrawnDomains = 12;

// One domain, or several alike that are drawn as one.
struct DomainFrame {
  std::vector<std::int32_t> domains;  // ascending
  DomainSummary sum;
  bool is_binding = false;  // holds the domain that binds
};

// Ascending.
std::vector<std::int32_t> DomainsWithRanks(const DomainTraffic& traffic);

// Domains with ranks; of more than kMaxDrawnDomains those of equal type and ranks are one frame, or
// if that does not help, those of the same sides. `binding_domain` may be -1.
std::vector<DomainFrame> MakeFrames(const DomainTraffic& traffic, std::int32_t binding_domain);

// "domain 2: dgx-h100, 8 GPUs"; "domains 0-31: 32 of dgx-h100, 256 GPUs together".
std::string FrameTitle(const DomainFrame& frame);
// "64 destination ranks"; "no rank".
std::vector<std::string> FrameRoles(const DomainFrame& frame);

}  // namespace reshard
