#include "simgrid_plans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "simgrid_arguments.h"

namespace reshard {
namespace {

namespace s4u = simgrid::s4u;

constexpr RoundIndex kDone = std::numeric_limits<RoundIndex>::max();

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

std::int64_t AmountIn(const ReplayModel& model, const SegmentRange& range, RoundIndex round) {
  std::int64_t amount = 0;
  for (const Segment& segment : model.Of(range)) {
    if (segment.first_round <= round) amount = segment.bytes;
  }
  return amount;
}

// Where a rank's lanes are, for those that wait for them.
struct Progress {
  s4u::MutexPtr mutex = s4u::Mutex::create();
  s4u::ConditionVariablePtr moved = s4u::ConditionVariable::create();
  RoundIndex round[kLaneCount] = {};  // of the running or next step
};

class PlanActors {
 public:
  PlanActors(const ReplayModel& model, std::string name, s4u::NetZone* root, double& end)
      : model_(model), name_(std::move(name)), zone_(s4u::create_full_zone(name_)), end_(end) {
    zone_->set_parent(root);
    for (std::size_t rank = 0; rank < model_.ranks.size(); ++rank) {
      for (const char* part : {"", "from", "to"}) {
        hosts_.push_back(
            zone_->create_host(name_ + "r" + std::to_string(rank) + part, 1e9)->seal());
      }
    }
    AddRoutes();
    zone_->seal();
    progress_.resize(model_.ranks.size());
    for (RankIndex rank = 0; At(rank) < model_.ranks.size(); ++rank) {
      for (int lane = 0; lane < kLaneCount; ++lane) {
        progress_[At(rank)].round[lane] = NextStep(rank, lane, 0);
      }
    }
    for (RankIndex rank = 0; At(rank) < model_.ranks.size(); ++rank) {
      for (int lane = 0; lane < kLaneCount; ++lane) {
        s4u::Actor::create(name_ + "lane", HostOf(rank), [this, rank, lane] { Run(rank, lane); });
      }
    }
  }

 private:
  s4u::Host* HostOf(RankIndex rank) const { return hosts_[3 * At(rank)]; }

  s4u::Link* LinkOf(ResourceIndex resource) {
    s4u::Link*& link = links_[resource];
    if (link == nullptr) {
      link = zone_
                 ->create_link(name_ + "l" + std::to_string(resource),
                               model_.capacities[At(resource)] * 1e9)
                 ->set_latency(0)
                 ->seal();
    }
    return link;
  }

  void AddRoute(s4u::Host* from, s4u::Host* to, FlowIndex flow) {
    std::vector<s4u::LinkInRoute> route;
    for (const ResourceShare& use : model_.flows.Shares(flow)) {
      route.emplace_back(LinkOf(use.resource));
    }
    zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
  }

  void AddRoutes() {
    std::map<std::pair<RankIndex, RankIndex>, bool> known;
    for (std::size_t t = 0; t < model_.transfers.size(); ++t) {
      const ModelTransfer& transfer = model_.transfers[t];
      if (transfer.bytes.count == 0 || known[{transfer.from, transfer.to}]) continue;
      known[{transfer.from, transfer.to}] = true;
      AddRoute(HostOf(transfer.from), HostOf(transfer.to), static_cast<FlowIndex>(t));
    }
    for (RankIndex rank = 0; At(rank) < model_.ranks.size(); ++rank) {
      const FlowIndex copy = model_.CopyFlow(rank, Lane::kPack);
      if (model_.flows.Shares(copy).empty()) continue;
      AddRoute(hosts_[3 * At(rank) + 1], hosts_[3 * At(rank) + 2], copy);
    }
  }

  RoundIndex NextStep(RankIndex rank, int lane, RoundIndex from) const {
    for (RoundIndex round = from; round < model_.round_count; ++round) {
      if (AmountIn(model_, model_.ranks[At(rank)].lanes[lane], round) > 0) return round;
    }
    return kDone;
  }

  void Run(RankIndex rank, int lane) {
    Progress& progress = progress_[At(rank)];
    while (progress.round[lane] != kDone) {
      const RoundIndex round = progress.round[lane];
      Await(rank, lane, round);
      if (lane == static_cast<int>(Lane::kExchange)) {
        Exchange(rank, round);
      } else {
        Copy(rank, lane, round);
      }
      end_ = std::max(end_, s4u::Engine::get_clock());
      const std::scoped_lock lock(*progress.mutex);
      progress.round[lane] = NextStep(rank, lane, round + 1);
      progress.moved->notify_all();
    }
  }

  void Await(RankIndex rank, int lane, RoundIndex round) {
    Progress& progress = progress_[At(rank)];
    std::unique_lock lock(*progress.mutex);
    for (const Wait& wait : model_.Waits(model_.ranks[At(rank)])) {
      if (static_cast<int>(wait.lane) != lane || round < wait.lag) continue;
      while (progress.round[static_cast<int>(wait.on)] <= round - wait.lag) {
        progress.moved->wait(lock);
      }
    }
  }

  // A copy reads and writes each byte: twice the bytes over the HBM.
  void Copy(RankIndex rank, int lane, RoundIndex round) {
    const FlowIndex flow = model_.CopyFlow(rank, static_cast<Lane>(lane));
    const double share = model_.flows.Shares(flow).front().share;
    const auto bytes =
        static_cast<double>(AmountIn(model_, model_.ranks[At(rank)].lanes[lane], round));
    s4u::Comm::sendto(hosts_[3 * At(rank) + 1], hosts_[3 * At(rank) + 2],
                      static_cast<std::uint64_t>(share * bytes));
  }

  // Both ends meet in a mailbox: the bytes flow when both have come.
  void Exchange(RankIndex rank, RoundIndex round) {
    static int payload = 0;
    std::vector<s4u::CommPtr> sends;
    std::vector<s4u::CommPtr> receives;
    std::vector<std::unique_ptr<int*>> received;
    for (const TransferIndex t : model_.Operations(model_.ranks[At(rank)])) {
      const ModelTransfer& transfer = model_.transfers[At(t)];
      const std::int64_t bytes = AmountIn(model_, transfer.bytes, round);
      if (bytes == 0) continue;
      s4u::Mailbox* const box = s4u::Mailbox::by_name(name_ + "t" + std::to_string(t));
      if (transfer.from == rank) {
        sends.push_back(box->put_async(&payload, static_cast<std::uint64_t>(bytes)));
      } else {
        received.push_back(std::make_unique<int*>(nullptr));
        receives.push_back(box->get_async<int>(received.back().get()));
      }
    }
    for (const s4u::CommPtr& comm : sends) comm->wait();
    for (const s4u::CommPtr& comm : receives) comm->wait();
  }

  const ReplayModel& model_;
  const std::string name_;
  s4u::NetZone* const zone_;
  double& end_;
  std::vector<s4u::Host*> hosts_;  // three a rank: its own, and the two ends of its copies
  std::map<ResourceIndex, s4u::Link*> links_;
  std::vector<Progress> progress_;
};

}  // namespace

std::vector<double> PlanEndsBySimGrid(std::span<const ReplayModel> models) {
  std::vector<std::string> texts(std::begin(kSimGridArguments), std::end(kSimGridArguments));
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  int count = static_cast<int>(arguments.size());
  s4u::Engine engine(&count, arguments.data());
  s4u::NetZone* const root = s4u::create_full_zone("root");
  std::vector<double> ends(models.size());
  std::vector<std::unique_ptr<PlanActors>> plans;
  for (std::size_t m = 0; m < models.size(); ++m) {
    plans.push_back(
        std::make_unique<PlanActors>(models[m], "plan" + std::to_string(m), root, ends[m]));
  }
  root->seal();
  engine.run();
  return ends;
}

}  // namespace reshard
