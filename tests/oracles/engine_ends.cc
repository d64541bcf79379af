#include "engine_ends.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "simulator/flow_engine.h"

namespace reshard {

std::vector<double> EndsByEngine(const OracleSet& set) {
  std::vector<double> capacities;
  for (const double rate : set.link_rates) capacities.push_back(rate / 1e9);
  FlowTable table;
  std::vector<FlowIndex> order;
  for (const OracleFlow& flow : set.flows) {
    std::vector<ResourceShare> shares;
    for (const int link : flow.links) shares.push_back({link, 1});
    order.push_back(table.Add(shares, flow.cap > 0 ? flow.cap / 1e9 : kUncapped));
  }
  const auto start_of = [&](FlowIndex flow) {
    return static_cast<Nanoseconds>(
        std::llround(set.flows[static_cast<std::size_t>(flow)].start_seconds * 1e9));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](FlowIndex a, FlowIndex b) { return start_of(a) < start_of(b); });
  FlowEngine engine(table, capacities);
  std::vector<double> ends(set.flows.size());
  std::vector<FlowIndex> ended;
  std::size_t next = 0;
  while (true) {
    const Nanoseconds start = next < order.size() ? start_of(order[next]) : kNever;
    const Nanoseconds now = std::min(start, engine.NextEnd());
    if (now == kNever) return ends;
    ended.clear();
    engine.Complete(now, ended);
    for (const FlowIndex flow : ended) {
      ends[static_cast<std::size_t>(flow)] = static_cast<double>(now) * 1e-9;
    }
    for (; next < order.size() && start_of(order[next]) == now; ++next) {
      const OracleFlow& flow = set.flows[static_cast<std::size_t>(order[next])];
      engine.Start(order[next], static_cast<double>(flow.bytes), now);
    }
    engine.UpdateRates(now);
  }
}

}  // namespace reshard
