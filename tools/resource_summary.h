// What the simulator says each resource was busy with, by kind: thousands of NICs in a few lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/simulate.h"
#include "tools/text_table.h"

namespace reshard {

// Resources whose names differ in their numbers only.
struct ResourceKind {
  std::string name;  // "NIC in", "GPU NVLink out"
  std::int64_t resources = 0;
  std::int64_t bytes = 0;  // over all of them
  double busy_mean = 0;
  ResourceUse busiest;  // the first of those most busy
};

// In the order in which the kinds first appear.
std::vector<ResourceKind> ResourceKinds(std::span<const ResourceUse> uses);

TextTable ResourceTable(const std::vector<ResourceKind>& kinds);

}  // namespace reshard
