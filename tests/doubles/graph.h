// CUDA graphs of the doubles, and the captures that make them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/doubles/operation.h"

struct CUevent_st;

namespace reshard::doubles {

using NodeIndex = int;

struct GraphNode {
  OperationMaker make;
  std::set<NodeIndex> dependencies;
  CUevent_st* records = nullptr;  // an event that the node records at each replay
};

using GraphNodes = std::vector<GraphNode>;

// What streams add to between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
  GraphNodes nodes;
  std::thread::id thread;  // that began it
  bool invalidated = false;
  bool ended = false;
  // Whether a node that nothing depends on is not among `tail`: a fork that never came back.
  bool IsUnjoined(const std::set<NodeIndex>& tail) const;
};

// One replay. Nodes whose dependencies are over run in an order drawn from the seed, so that a
// dependency too few shows as wrong bytes; NCCL groups stay in flight while other nodes run.
// `records` are the markers of nodes that record events.
std::shared_ptr<Operation> RunGraph(std::shared_ptr<const GraphNodes> nodes,
                                    std::map<NodeIndex, std::shared_ptr<Marker>> records,
                                    std::uint64_t seed);

}  // namespace reshard::doubles
