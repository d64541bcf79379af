// Puts together a SlurmTopology from the lines of either of SLURM's files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {

// Each error has the place given with the call that it concerns.
class SlurmBuilder {
 public:
  explicit SlurmBuilder(std::string source) { topology_.source = std::move(source); }

  // A block of the nodes of host list `nodes`; a node stands in one block only.
  Result<void> AddBlock(std::string_view name, std::string_view nodes, const std::string& place);
  // A switch with nodes and other switches below it, both host lists; either may be empty.
  Result<void> AddSwitch(std::string_view name, std::string_view nodes, std::string_view switches,
                         const std::string& place);
  void Assume(std::string assumption) { topology_.assumptions.push_back(std::move(assumption)); }

  // Fails on switches without nodes, unknown or in a ring, and on blocks beside switches.
  Result<SlurmTopology> Finish();

 private:
  struct PendingSwitch {
    std::string name;
    std::string place;
    std::vector<std::int32_t> nodes;
    std::vector<std::string> children;
    enum class State { kOpen, kInProgress, kDone } state = State::kOpen;
  };

  Result<std::vector<std::int32_t>> AddNodes(std::string_view list, const std::string& place);
  Result<void> Resolve(std::size_t index, int depth);

  SlurmTopology topology_;
  std::map<std::string, std::int32_t, std::less<>> node_indices_;
  std::vector<PendingSwitch> switches_;
  std::map<std::string, std::size_t, std::less<>> switch_indices_;
  std::int64_t listed_ = 0;
};

}  // namespace reshard
