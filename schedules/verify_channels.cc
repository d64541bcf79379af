#include <fmt/format.h>

#include <bit>
#include <cstdint>

#include "schedules/verification.h"

namespace reshard::verification {

Result<void> VerifyChannels(const Plan& plan, const VerifierReport& report) {
  const auto broken = [](const std::string& reason) { return Broken(5, "channel hints", reason); };
  const auto [peers, channels] = plan.channels;
  if (peers != 0 && peers < report.peers_max) {
    return broken(fmt::format("NCCL would be told of {} peers at most, a rank has {}", peers,
                              report.peers_max));
  }
  const auto ranks = static_cast<std::int64_t>(plan.job.ranks.size());
  if (peers > ranks) return broken(fmt::format("{} peers among {} ranks", peers, ranks));
  if (channels < 0 || channels > kMostChannels ||
      (channels > 0 && !std::has_single_bit(static_cast<std::uint64_t>(channels)))) {
    return broken(fmt::format("{} channels per network peer: NCCL knows powers of two up to {}",
                              channels, kMostChannels));
  }
  return {};
}

}  // namespace reshard::verification
