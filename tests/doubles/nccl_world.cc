#include "tests/doubles/nccl_world.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "tests/doubles/controls.h"
#include "tests/doubles/shared_world.h"
#include "tests/doubles/thread_world.h"

namespace reshard::doubles {
namespace {

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
        if (is_dying_ && endpoint_->dies_as_process) raise(SIGKILL);
      }
    }
    TheProgress().changed.notify_all();
  }

  bool IsDone() const override { return done_ || endpoint_->aborted; }

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
      cut.push_back({(*operations_)[i], endpoint_, [run = shared_from_this()] {
                       if (--run->open_ == 0) run->PostNextCut();
                     }});
    }
    endpoint_->world->Post(std::move(cut));
  }

  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const std::vector<PointToPoint>> operations_;
  std::size_t next_ = 0;
  std::size_t open_ = 0;  // operations of the running cut that have not ended
  bool is_dying_ = false;
  std::size_t last_ = 0;
  bool done_ = false;
};

// RESHARD_DOUBLES_KILL=RANK:GROUP:OPERATIONS orders the process of that rank to die by SIGKILL in
// that group, after so many operations of it.
void ReadOwnDeath(Endpoint& endpoint) {
  const char* const order = std::getenv("RESHARD_DOUBLES_KILL");
  if (order == nullptr) return;
  int rank = -1;
  long long group = 0;
  long long operations = 0;
  if (std::sscanf(order, "%d:%lld:%lld", &rank, &group, &operations) != 3) std::abort();
  if (rank != endpoint.rank) return;
  endpoint.dies_at = group;
  endpoint.operations_before_death = operations;
  endpoint.dies_as_process = true;
}

}  // namespace

ncclUniqueId MakeId() {
  static std::atomic<std::uint64_t> next{1};
  const std::uint64_t number = next++;
  ncclUniqueId id = {};
  if (std::getenv("RESHARD_DOUBLES_PROCESSES") != nullptr) {
    const std::string name = SharedWorldName(number);
    std::memcpy(id.internal, name.data(), std::min(name.size(), sizeof(id.internal) - 1));
  } else {
    std::memcpy(id.internal, &number, sizeof(number));
  }
  return id;
}

std::shared_ptr<World> JoinWorld(const ncclUniqueId& id, int ranks,
                                 const std::shared_ptr<Endpoint>& endpoint) {
  static auto* const worlds = new std::map<std::string, std::weak_ptr<World>>;
  const std::lock_guard lock(TheProgress().mutex);
  if (endpoint->rank < 0 || endpoint->rank >= ranks) return nullptr;
  std::weak_ptr<World>& known = (*worlds)[std::string(id.internal, sizeof(id.internal))];
  std::shared_ptr<World> world = known.lock();
  if (world == nullptr) {
    known = world = IsSharedWorldName(id.internal) ? MakeSharedWorld(id.internal, ranks)
                                                   : std::make_shared<ThreadWorld>(ranks);
  }
  if (world == nullptr || world->rank_count() != ranks || !world->Join(endpoint)) return nullptr;
  endpoint->world = world;
  ReadOwnDeath(*endpoint);
  TheProgress().changed.notify_all();
  return world;
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
