#include "simgrid_oracle.h"

#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "simgrid_arguments.h"

namespace reshard {
namespace {

namespace s4u = simgrid::s4u;

}  // namespace

std::vector<std::vector<double>> EndsBySimGrid(std::span<const OracleSet> sets,
                                               double* processor_seconds) {
  std::vector<std::string> texts(std::begin(kSimGridArguments), std::end(kSimGridArguments));
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  int count = static_cast<int>(arguments.size());
  s4u::Engine engine(&count, arguments.data());
  s4u::NetZone* const root = s4u::create_full_zone("root");
  std::vector<std::vector<double>> ends(sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const OracleSet& set = sets[s];
    const std::string prefix = "set" + std::to_string(s);
    s4u::NetZone* const zone = s4u::create_full_zone(prefix);
    zone->set_parent(root);
    std::vector<s4u::Link*> links;
    for (std::size_t l = 0; l < set.link_rates.size(); ++l) {
      links.push_back(zone->create_link(prefix + "link" + std::to_string(l), set.link_rates[l])
                          ->set_latency(0)
                          ->seal());
    }
    ends[s].resize(set.flows.size());
    for (std::size_t f = 0; f < set.flows.size(); ++f) {
      const OracleFlow& flow = set.flows[f];
      const std::string name = prefix + "flow" + std::to_string(f);
      s4u::Host* const from = zone->create_host(name + "from", 1e9)->seal();
      s4u::Host* const to = zone->create_host(name + "to", 1e9)->seal();
      std::vector<s4u::LinkInRoute> route;
      for (const int link : flow.links) route.emplace_back(links[static_cast<std::size_t>(link)]);
      if (flow.cap > 0) {
        route.emplace_back(zone->create_link(name + "cap", flow.cap)->set_latency(0)->seal());
      }
      zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
      double* const end = &ends[s][f];
      s4u::Actor::create(name, from, [from, to, end, &flow] {
        s4u::this_actor::sleep_until(flow.start_seconds);
        s4u::Comm::sendto(from, to, flow.bytes);
        *end = s4u::Engine::get_clock();
      });
    }
    zone->seal();
  }
  root->seal();
  const std::clock_t begin = std::clock();
  engine.run();
  if (processor_seconds != nullptr) {
    *processor_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  return ends;
}

}  // namespace reshard
