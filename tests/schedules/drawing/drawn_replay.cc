#include "drawn_replay.h"

#include <string>
#include <vector>

namespace reshard {

DrawnReplay MakeDrawnReplay(std::int32_t domains, std::int32_t gpus, RoundIndex rounds) {
  constexpr std::int64_t kRoundNs = 1'000'000;
  DrawnReplay drawn;
  drawn.plan.round_count = rounds;
  drawn.plan.job.layouts.resize(1);
  drawn.plan.schedules.resize(static_cast<std::size_t>(domains) * static_cast<std::size_t>(gpus));
  drawn.record.end_ns = kRoundNs * (rounds + 1);
  drawn.record.stretch_ns = kRoundNs / 2;
  for (std::int32_t domain = 0; domain < domains; ++domain) {
    const bool is_source = domain < domains / 2;
    drawn.cluster.domains.push_back({"rack", domain * gpus, gpus, 3.4, 14});
    for (std::int32_t gpu = domain * gpus; gpu < (domain + 1) * gpus; ++gpu) {
      drawn.cluster.gpus.push_back({domain, domain, 720, 8000, {gpu}, false});
      drawn.cluster.nics.push_back({domain, domain, gpu % gpus, 48, {gpu}});
      drawn.plan.job.ranks.push_back({gpu, domain, domain, is_source ? 0 : kNoGroup,
                                      is_source ? kNoGroup : 0, is_source ? 0 : kNoLayout,
                                      is_source ? kNoLayout : 0});
      for (RoundIndex round = 0; round < rounds; ++round) {
        const std::int64_t start = kRoundNs * round;
        if (is_source) {
          drawn.record.steps.push_back({gpu, Lane::kPack, round, start, start + kRoundNs / 10});
        }
        drawn.record.steps.push_back(
            {gpu, Lane::kExchange, round, start + kRoundNs / 10, start + kRoundNs});
        if (!is_source) {
          drawn.record.steps.push_back(
              {gpu, Lane::kUnpack, round, start + kRoundNs, start + kRoundNs * 3 / 2});
        }
      }
    }
    const std::vector<double> busy(static_cast<std::size_t>(2 * (rounds + 1)), 0.5);
    const std::vector<double> idle(busy.size(), 0);
    drawn.record.domains.push_back(
        {is_source ? busy : idle, is_source ? idle : busy, is_source ? idle : busy});
  }
  for (RoundIndex round = 0; round < rounds; ++round) {
    RoundTraffic traffic;
    const std::int64_t bytes = 1'000'000 * (std::int64_t{round} + 1);
    for (std::int32_t domain = 0; domain < domains; ++domain) {
      const bool is_source = domain < domains / 2;
      traffic.out.push_back(is_source ? bytes : 0);
      traffic.in.push_back(is_source ? 0 : bytes);
      traffic.inside.push_back(is_source ? 0 : 7 * bytes);
    }
    drawn.record.rounds.push_back(traffic);
  }
  drawn.plan.certificate.lower_bound = {
      static_cast<double>(kRoundNs) * 1e-9 * rounds, "LB2",
      "domain " + std::to_string(domains - 1) + " ingress: 673.2 GB over 64 NICs at 48 GB/s"};
  return drawn;
}

}  // namespace reshard
