// Clusters for tests, domain by domain.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/cluster_builder.h"

namespace reshard {

// One NVLink domain that is one node, too.
struct TestDomain {
  std::int32_t gpus = 1;
  double nvlink_gbps = 400;
  std::vector<NicType> nics;  // GPUs by index in the domain
  double nvlink_latency_us = 3;
  double network_latency_us = 14;
};

// `gpus` GPUs, each with a NIC of its own.
inline TestDomain UniformDomain(std::int32_t gpus, double nvlink_gbps, double nic_gbps) {
  TestDomain domain{gpus, nvlink_gbps, {}};
  for (std::int32_t g = 0; g < gpus; ++g) domain.nics.push_back({{g}, nic_gbps, g});
  return domain;
}

inline Cluster MakeTestCluster(std::span<const TestDomain> domains) {
  ClusterDescription description;
  for (const TestDomain& domain : domains) {
    description.entries.push_back(
        {static_cast<std::int32_t>(description.types.size()), domain.gpus, 1});
    description.types.push_back({"test-" + std::to_string(description.types.size()), domain.gpus,
                                 domain.gpus, domain.nvlink_gbps, 8000, domain.nics,
                                 domain.nvlink_latency_us, domain.network_latency_us});
  }
  return BuildCluster(description).value();
}

inline Cluster UniformCluster(std::int32_t domains, std::int32_t gpus, double nvlink_gbps,
                              double nic_gbps) {
  const std::vector<TestDomain> all(static_cast<std::size_t>(domains),
                                    UniformDomain(gpus, nvlink_gbps, nic_gbps));
  return MakeTestCluster(all);
}

}  // namespace reshard
