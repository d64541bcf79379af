#include "compiler/planning/flow_network.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cstddef>
#include <utility>

namespace reshard {
namespace {

// Capacities are scaled down until they sum to less than this, so that a capacity times a remainder
// by their sum stays within 64 bits.
constexpr std::int64_t kMostCapacity = std::int64_t{1} << 31;
// All bytes together stay below this; a supplier that could take more is not limited.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, std::int64_t,
        boost::property<boost::edge_residual_capacity_t, std::int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

// source -> demands -> suppliers -> sink.
class Network {
 public:
  explicit Network(std::size_t nodes) : graph_(nodes) {}

  Traits::edge_descriptor Connect(std::size_t from, std::size_t to, std::int64_t capacity) {
    const auto edge = boost::add_edge(from, to, graph_).first;
    const auto back = boost::add_edge(to, from, graph_).first;
    boost::put(boost::edge_capacity, graph_, edge, capacity);
    boost::put(boost::edge_capacity, graph_, back, std::int64_t{0});
    boost::put(boost::edge_reverse, graph_, edge, back);
    boost::put(boost::edge_reverse, graph_, back, edge);
    return edge;
  }
  std::int64_t Maximise(std::size_t source, std::size_t sink) {
    return boost::push_relabel_max_flow(graph_, source, sink);
  }
  std::int64_t FlowOn(Traits::edge_descriptor edge) const {
    return boost::get(boost::edge_capacity, graph_, edge) -
           boost::get(boost::edge_residual_capacity, graph_, edge);
  }
  // Nodes that more could flow to.
  std::vector<bool> ReachableFrom(std::size_t source) const {
    std::vector<bool> reached(boost::num_vertices(graph_), false);
    std::vector<std::size_t> open{source};
    reached[source] = true;
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const auto& edge : boost::make_iterator_range(boost::out_edges(node, graph_))) {
        const std::size_t next = boost::target(edge, graph_);
        if (reached[next] || boost::get(boost::edge_residual_capacity, graph_, edge) <= 0) continue;
        reached[next] = true;
        open.push_back(next);
      }
    }
    return reached;
  }

 private:
  Graph graph_;
};

class Leveller {
 public:
  Leveller(std::span<const FlowDemand> demands, std::span<const std::int64_t> capacities)
      : demands_(demands), capacity_(capacities.begin(), capacities.end()) {
    double total = 0;
    for (const std::int64_t capacity : capacity_) total += static_cast<double>(capacity);
    const double scale = std::max(1.0, total / (static_cast<double>(kMostCapacity) / 2));
    for (std::int64_t& capacity : capacity_) {
      if (capacity <= 0 || scale <= 1) continue;
      const auto scaled = static_cast<std::int64_t>(static_cast<double>(capacity) / scale);
      capacity = std::max<std::int64_t>(1, scaled);
    }
  }

  LevelFlow Run() {
    for (const FlowDemand& demand : demands_) {
      result_.bytes.emplace_back(demand.suppliers.size(), 0);
    }
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      if (demands_[i].bytes > 0) left.push_back(i);
    }
    taken_.assign(capacity_.size(), false);
    bool first = true;
    while (!left.empty()) {
      const std::vector<std::size_t> tight = MeetAtLeastLevel(left, first);
      first = false;
      std::vector<std::size_t> rest;
      std::ranges::set_difference(left, tight, std::back_inserter(rest));
      for (const std::size_t i : tight) {
        for (const std::int32_t s : demands_[i].suppliers) taken_[At(s)] = true;
      }
      left = std::move(rest);
    }
    return std::move(result_);
  }

 private:
  static std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

  bool Supplies(std::int32_t s) const { return capacity_[At(s)] > 0 && !taken_[At(s)]; }

  std::int64_t BytesOf(const std::vector<std::size_t>& set) const {
    std::int64_t bytes = 0;
    for (const std::size_t i : set) bytes += demands_[i].bytes;
    return bytes;
  }

  std::int64_t CapacityOf(const std::vector<std::size_t>& set) const {
    std::vector<bool> counted(capacity_.size(), false);
    std::int64_t capacity = 0;
    for (const std::size_t i : set) {
      for (const std::int32_t s : demands_[i].suppliers) {
        if (!Supplies(s) || counted[At(s)]) continue;
        counted[At(s)] = true;
        capacity += capacity_[At(s)];
      }
    }
    return capacity;
  }

  // Finds the level of `left` and sends what the flow at that level says. Returns the demands that
  // fill their suppliers at that level, ascending.
  std::vector<std::size_t> MeetAtLeastLevel(const std::vector<std::size_t>& left, bool keep_level) {
    std::vector<std::size_t> tight = left;
    while (true) {
      const std::int64_t bytes = BytesOf(tight);
      const std::int64_t capacity = std::max<std::int64_t>(1, CapacityOf(tight));
      std::vector<std::size_t> over = FlowAt(left, bytes, capacity);
      // A cut of no greater level is the bytes that rounding up allows.
      if (over.empty() || !Exceeds(over, bytes, capacity)) {
        if (keep_level) {
          result_.level_bytes = bytes;
          result_.level_capacity = capacity;
        }
        return tight;
      }
      tight = std::move(over);
    }
  }

  // bytes(set) / capacity(set) > bytes / capacity, in whole numbers: both quotients, then
  // remainders, which are below 2^31.
  bool Exceeds(const std::vector<std::size_t>& set, std::int64_t bytes,
               std::int64_t capacity) const {
    const std::int64_t set_bytes = BytesOf(set);
    const std::int64_t set_capacity = std::max<std::int64_t>(1, CapacityOf(set));
    if (set_bytes / set_capacity != bytes / capacity) {
      return set_bytes / set_capacity > bytes / capacity;
    }
    return (set_bytes % set_capacity) * capacity > (bytes % capacity) * set_capacity;
  }

  // A maximum flow with every supplier at the level bytes / capacity, rounded up. Keeps it, and
  // returns the demands on the source's side of its minimum cut: none if all are met.
  std::vector<std::size_t> FlowAt(const std::vector<std::size_t>& left, std::int64_t bytes,
                                  std::int64_t capacity) {
    const std::size_t first_supplier = 2 + left.size();
    Network network(first_supplier + capacity_.size());
    std::vector<std::vector<Traits::edge_descriptor>> edges(left.size());
    std::vector<std::vector<std::size_t>> position(left.size());
    for (std::size_t k = 0; k < left.size(); ++k) {
      const FlowDemand& demand = demands_[left[k]];
      network.Connect(0, 2 + k, demand.bytes);
      for (std::size_t j = 0; j < demand.suppliers.size(); ++j) {
        if (!Supplies(demand.suppliers[j])) continue;
        edges[k].push_back(
            network.Connect(2 + k, first_supplier + At(demand.suppliers[j]), demand.bytes));
        position[k].push_back(j);
      }
    }
    for (std::size_t s = 0; s < capacity_.size(); ++s) {
      if (!Supplies(static_cast<std::int32_t>(s))) continue;
      // capacity_[s] <= capacity only within the set; others may be larger, so cap the product.
      const std::int64_t whole = bytes / capacity;
      const std::int64_t room =
          whole > (kMostBytes - capacity_[s]) / capacity_[s]
              ? kMostBytes
              : capacity_[s] * whole +
                    (capacity_[s] * (bytes % capacity) + capacity - 1) / capacity;
      network.Connect(first_supplier + s, 1, room);
    }
    const std::int64_t sent = network.Maximise(0, 1);
    std::vector<std::size_t> over;
    if (sent < BytesOf(left)) {
      const std::vector<bool> reached = network.ReachableFrom(0);
      for (std::size_t k = 0; k < left.size(); ++k) {
        if (reached[2 + k]) over.push_back(left[k]);
      }
      return over;
    }
    for (std::size_t k = 0; k < left.size(); ++k) {
      std::vector<std::int64_t>& shares = result_.bytes[left[k]];
      std::ranges::fill(shares, 0);
      for (std::size_t e = 0; e < edges[k].size(); ++e) {
        shares[position[k][e]] = network.FlowOn(edges[k][e]);
      }
    }
    return over;
  }

  std::span<const FlowDemand> demands_;
  std::vector<std::int64_t> capacity_;
  std::vector<bool> taken_;  // suppliers that a tight set fills
  LevelFlow result_;
};

}  // namespace

LevelFlow FindLevelFlow(std::span<const FlowDemand> demands,
                        std::span<const std::int64_t> capacities) {
  return Leveller(demands, capacities).Run();
}

}  // namespace reshard
