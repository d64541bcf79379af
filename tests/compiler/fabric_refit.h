// Random refits on fabrics that limit what passes between NVLink domains: what a planner's gap is
// surveyed on where rails do not meet for free, NICs are missing or slow, or switches are narrow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/compiler/random_refit.h"

namespace reshard {

// Names of the kinds of fabric there are.
const std::vector<std::string>& FabricKinds();

// The refit of random_refit.h of the same seed, on a fabric of that kind:
//   none, spine 2, spine 4, spine 8   rails are the places of NICs in their domain
//   switches                 two sets of domains, each under a switch of 2:1 to 4:1
//   missing, missing none, missing spine   a fifth of the NICs is out of service
//   slow none, slow spine    a quarter of the NICs at half rate
//   shared none, shared spine   one NIC for two GPUs
//   paired none, paired spine   two NICs on rails of their own for each GPU
//   bare                     some GPUs of each domain have no NVLink
RandomRefit MakeFabricRefit(std::string_view kind, std::uint64_t seed);

}  // namespace reshard
