#include "tests/doubles/nccl_world.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"

namespace reshard::doubles {

class GroupRun;

// An operation that waits for its other end.
struct Posted {
  PointToPoint operation;
  std::shared_ptr<GroupRun> group;
  std::optional<std::vector<std::byte>> read_early;  // a send's bytes, as they were when posted
};

using Pair = std::pair<int, int>;  // from, to

class World {
 public:
  explicit World(int ranks) : endpoints(static_cast<std::size_t>(ranks)) {}

  // By a draw: takes the bytes of a send before any operation of its cut makes progress.
  void MayReadEarly(Posted& posted);
  void Post(Posted posted);
  void Drop(const Endpoint& endpoint);

  std::vector<std::shared_ptr<Endpoint>> endpoints;
  int joined = 0;
  std::set<Pair> wanted;
  std::map<Pair, std::deque<Posted>> sends;
  std::map<Pair, std::deque<Posted>> receives;
  std::mt19937_64 random{GetControls().seed};
};

// All with the lock of TheProgress() held, but Begin.
class GroupRun final : public Operation, public std::enable_shared_from_this<GroupRun> {
 public:
  GroupRun(std::shared_ptr<Endpoint> endpoint,
           std::shared_ptr<const std::vector<PointToPoint>> operations)
      : endpoint_(std::move(endpoint)), operations_(std::move(operations)) {}

  void Begin() override {
    std::chrono::microseconds delay{0};
    {
      const std::lock_guard lock(TheProgress().mutex);
      if (!endpoint_->aborted) delay = endpoint_->delay;
    }
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    {
      const std::lock_guard lock(TheProgress().mutex);
      const std::int64_t number = endpoint_->groups_begun++;
      if (!endpoint_->aborted) {
        if (endpoint_->dies_at >= 0 && number >= endpoint_->dies_at) {
          is_dying_ = true;
          last_ = number == endpoint_->dies_at
                      ? static_cast<std::size_t>(endpoint_->operations_before_death)
                      : 0;
        }
        PostNextCut();
      }
    }
    TheProgress().changed.notify_all();
  }

  bool IsDone() const override { return done_ || endpoint_->aborted; }
  const std::shared_ptr<Endpoint>& endpoint() const { return endpoint_; }

  void EndOne() {
    if (--open_ == 0) PostNextCut();
  }

 private:
  void PostNextCut() {
    const auto budget = static_cast<std::size_t>(GetControls().group_budget);
    const std::size_t end =
        std::min({operations_->size(), next_ + budget, is_dying_ ? last_ : operations_->size()});
    if (next_ >= end) {
      done_ = !is_dying_;
      return;
    }
    const std::size_t begin = std::exchange(next_, end);
    open_ = end - begin;
    std::vector<Posted> cut;
    for (std::size_t i = begin; i < end; ++i) {
      cut.push_back({(*operations_)[i], shared_from_this(), std::nullopt});
      endpoint_->world->MayReadEarly(cut.back());
    }
    for (Posted& posted : cut) endpoint_->world->Post(std::move(posted));
  }

  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const std::vector<PointToPoint>> operations_;
  std::size_t next_ = 0;
  std::size_t open_ = 0;  // operations of the running cut that have not ended
  bool is_dying_ = false;
  std::size_t last_ = 0;
  bool done_ = false;
};

void World::MayReadEarly(Posted& posted) {
  const PointToPoint& operation = posted.operation;
  if (!operation.sends || random() % 2 == 0) return;
  const std::byte* const data = InOpenView(operation.data);
  posted.read_early.emplace(data, data + operation.bytes);
}

void World::Post(Posted posted) {
  const int own = posted.group->endpoint()->rank;
  const bool is_send = posted.operation.sends;
  const Pair pair = is_send ? Pair{own, posted.operation.peer} : Pair{posted.operation.peer, own};
  (is_send ? sends : receives)[pair].push_back(std::move(posted));
  std::deque<Posted>& senders = sends[pair];
  std::deque<Posted>& receivers = receives[pair];
  while (!senders.empty() && !receivers.empty() &&
         senders.front().operation.bytes == receivers.front().operation.bytes) {
    const Posted send = std::move(senders.front());
    const Posted receive = std::move(receivers.front());
    senders.pop_front();
    receivers.pop_front();
    const std::byte* const bytes =
        send.read_early ? send.read_early->data() : InOpenView(send.operation.data);
    std::memmove(InOpenView(receive.operation.data), bytes, send.operation.bytes);
    send.group->EndOne();
    receive.group->EndOne();
  }
}

void World::Drop(const Endpoint& endpoint) {
  for (auto* ends : {&sends, &receives}) {
    for (auto& [pair, queue] : *ends) {
      std::erase_if(queue, [&endpoint](const Posted& posted) {
        return posted.group->endpoint().get() == &endpoint;
      });
    }
  }
}

std::shared_ptr<World> JoinWorld(const ncclUniqueId& id, int ranks,
                                 const std::shared_ptr<Endpoint>& endpoint) {
  static auto* const worlds = new std::map<std::string, std::weak_ptr<World>>;
  const std::lock_guard lock(TheProgress().mutex);
  std::weak_ptr<World>& known = (*worlds)[std::string(id.internal, sizeof(id.internal))];
  std::shared_ptr<World> world = known.lock();
  if (world == nullptr) known = world = std::make_shared<World>(ranks);
  if (RankCount(*world) != ranks || endpoint->rank < 0 || endpoint->rank >= ranks) return nullptr;
  std::shared_ptr<Endpoint>& place = world->endpoints[static_cast<std::size_t>(endpoint->rank)];
  if (place != nullptr) return nullptr;
  place = endpoint;
  ++world->joined;
  endpoint->world = world;
  TheProgress().changed.notify_all();
  return world;
}

bool IsComplete(const World& world) { return world.joined == RankCount(world); }
int RankCount(const World& world) { return static_cast<int>(world.endpoints.size()); }
void WantPeer(World& world, int rank, int peer) {
  if (world.wanted.insert({rank, peer}).second) TheProgress().changed.notify_all();
}
bool IsConnected(const World& world, int rank, int peer) {
  return world.wanted.count({rank, peer}) > 0 && world.wanted.count({peer, rank}) > 0;
}

void Abort(Endpoint& endpoint) {
  if (endpoint.aborted) return;
  endpoint.aborted = true;
  endpoint.world->Drop(endpoint);
  TheProgress().changed.notify_all();
}

std::shared_ptr<Operation> RunGroup(std::shared_ptr<Endpoint> endpoint,
                                    std::shared_ptr<const std::vector<PointToPoint>> operations) {
  return std::make_shared<GroupRun>(std::move(endpoint), std::move(operations));
}

}  // namespace reshard::doubles
