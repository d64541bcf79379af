#include "schedules/drawing/binding_resource.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace reshard {

BindingResource BindingOf(const BoundWitness& witness) {
  std::string_view text = witness.description;
  const auto skip = [&text](std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
  };
  BindingResource binding;
  if (skip("domain ")) {
    binding.kind = BindingResource::Kind::kDomain;
  } else if (skip("GPU ")) {
    binding.kind = BindingResource::Kind::kGpu;
  } else {
    return {};
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), binding.index);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (skip(" ingress")) {
    binding.direction = BindingResource::Direction::kIngress;
  } else if (skip(" egress")) {
    binding.direction = BindingResource::Direction::kEgress;
  } else if (!skip(" fan-out")) {
    return {};
  }
  return binding;
}

std::int32_t BindingDomain(const BindingResource& binding, const Cluster& cluster) {
  const auto index = static_cast<std::size_t>(std::max(binding.index, 0));
  if (binding.kind == BindingResource::Kind::kDomain && index < cluster.domains.size()) {
    return binding.index;
  }
  if (binding.kind == BindingResource::Kind::kGpu && index < cluster.gpus.size()) {
    return cluster.gpus[index].domain;
  }
  return -1;
}

}  // namespace reshard
