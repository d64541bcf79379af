#include "schedules/drawing/domain_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "schedules/number_text.h"

namespace reshard {
namespace {

void Accumulate(const DomainSummary& from, DomainSummary& into) {
  into.gpus += from.gpus;
  into.sources += from.sources;
  into.destinations += from.destinations;
  into.both += from.both;
  into.nics += from.nics;
  into.nvlink_bytes += from.nvlink_bytes;
  into.egress_bytes += from.egress_bytes;
  into.ingress_bytes += from.ingress_bytes;
  into.egress_busy += from.egress_busy;
  into.ingress_busy += from.ingress_busy;
}

auto RoleKey(const DomainSummary& domain) {
  return std::tuple(domain.sources > 0, domain.destinations > 0, domain.both > 0);
}

auto ShapeKey(const DomainSummary& domain) {
  return std::tuple(domain.type, domain.gpus, domain.sources, domain.destinations, domain.both);
}

// Groups domains by a key, in order of first appearance.
template <typename Key>
std::vector<DomainFrame> FramesBy(const DomainTraffic& traffic,
                                  const std::vector<std::int32_t>& drawn, const Key& key) {
  std::vector<DomainFrame> frames;
  for (const std::int32_t domain : drawn) {
    const DomainSummary& summary = traffic.domains[static_cast<std::size_t>(domain)];
    auto frame = std::find_if(frames.begin(), frames.end(), [&](const DomainFrame& one) {
      return key(traffic.domains[static_cast<std::size_t>(one.domains[0])]) == key(summary);
    });
    if (frame == frames.end()) {
      frames.emplace_back();
      frame = frames.end() - 1;
      frame->sum.type = summary.type;
    }
    frame->domains.push_back(domain);
    Accumulate(summary, frame->sum);
  }
  return frames;
}

std::vector<DomainFrame> GroupDomains(const DomainTraffic& traffic,
                                      const std::vector<std::int32_t>& drawn) {
  std::vector<DomainFrame> frames;
  if (drawn.size() <= kMaxDrawnDomains) {
    for (const std::int32_t domain : drawn) {
      frames.push_back({{domain}, traffic.domains[static_cast<std::size_t>(domain)], false});
    }
    return frames;
  }
  frames = FramesBy(traffic, drawn, ShapeKey);
  if (frames.size() > kMaxDrawnDomains) frames = FramesBy(traffic, drawn, RoleKey);
  return frames;
}

}  // namespace

std::vector<std::int32_t> DomainsWithRanks(const DomainTraffic& traffic) {
  std::vector<std::int32_t> domains;
  for (std::size_t i = 0; i < traffic.domains.size(); ++i) {
    if (traffic.domains[i].ranks() > 0) domains.push_back(static_cast<std::int32_t>(i));
  }
  return domains;
}

std::vector<DomainFrame> MakeFrames(const DomainTraffic& traffic, std::int32_t binding_domain) {
  std::vector<DomainFrame> frames = GroupDomains(traffic, DomainsWithRanks(traffic));
  for (DomainFrame& frame : frames) {
    frame.is_binding = std::find(frame.domains.begin(), frame.domains.end(), binding_domain) !=
                       frame.domains.end();
  }
  return frames;
}

std::string FrameTitle(const DomainFrame& frame) {
  const auto count = static_cast<std::int64_t>(frame.domains.size());
  if (count == 1) {
    return fmt::format("domain {}: {}, {} GPU{}", frame.domains[0], frame.sum.type, frame.sum.gpus,
                       frame.sum.gpus == 1 ? "" : "s");
  }
  return fmt::format("domains {}: {} of {}, {} GPUs together", RangesText(frame.domains),
                     CountText(count), frame.sum.type, CountText(frame.sum.gpus));
}

std::vector<std::string> FrameRoles(const DomainFrame& frame) {
  std::vector<std::string> roles;
  const auto add = [&roles](std::int32_t count, const char* role) {
    if (count == 0) return;
    roles.push_back(fmt::format("{} {} rank{}", CountText(count), role, count == 1 ? "" : "s"));
  };
  add(frame.sum.sources, "source");
  add(frame.sum.destinations, "destination");
  add(frame.sum.both, "source and destination");
  if (roles.empty()) roles.emplace_back("no rank");
  return roles;
}

}  // namespace reshard
