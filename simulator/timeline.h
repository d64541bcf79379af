// Utilisation over time.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/flow_engine.h"
#include "simulator/flow_table.h"

namespace reshard {

// Bytes that passed each resource in each of a number of equal stretches of time.
class Timeline {
 public:
  // Keeps a reference to `table`. `stretch` > 0.
  Timeline(const FlowTable& table, std::size_t resources, Nanoseconds stretch)
      : table_(table), stretch_(stretch), bytes_(resources) {}

  // `flow` ran at `gbps` from `begin` to `end`.
  void Add(FlowIndex flow, Nanoseconds begin, Nanoseconds end, double gbps);

  Nanoseconds stretch() const { return stretch_; }
  // Stretches up to the last in which anything passed; stretch i begins at i * stretch().
  const std::vector<double>& Bytes(ResourceIndex resource) const {
    return bytes_[static_cast<std::size_t>(resource)];
  }

 private:
  const FlowTable& table_;
  Nanoseconds stretch_;
  std::vector<std::vector<double>> bytes_;
};

}  // namespace reshard
