// Where the communicators of one unique id meet: which send meets which receive, and when.
//
// Operations between two ranks keep their order each way. A group makes progress only as a whole:
// it ends when its last operation has. Nothing orders a receive and a send of one group: bytes may
// be read when the group begins or when they are taken. A send that meets a receive of another size
// stops the two ranks' traffic for ever, as does a send that nobody receives.
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/doubles/operation.h"

namespace reshard::doubles {

struct PointToPoint {
  bool sends = false;
  int peer = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

class World;

// One rank's end. Guarded by the lock of TheProgress().
struct Endpoint {
  std::shared_ptr<World> world;
  int rank = 0;
  bool aborted = false;
  ncclResult_t async_error = ncclSuccess;
  std::int64_t groups_begun = 0;
  // From this group on the rank does no more than `operations_before_death` operations of it.
  std::int64_t dies_at = -1;
  std::int64_t operations_before_death = 0;
  bool dies_as_process = false;        // by SIGKILL, which leaves no trace of it
  std::chrono::microseconds delay{0};  // before each group
};

// An operation that waits for its other end.
struct Posted {
  PointToPoint operation;
  std::shared_ptr<Endpoint> endpoint;
  std::function<void()> ended;  // called with the lock held
};

// Ranks that are threads of this process, or processes of this machine. All with the lock of
// TheProgress() held.
class World {
 public:
  explicit World(int rank_count) : rank_count_(rank_count) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  int rank_count() const { return rank_count_; }
  // False if that rank has joined before.
  virtual bool Join(const std::shared_ptr<Endpoint>& endpoint) = 0;
  virtual bool IsComplete() const = 0;
  // Says that `rank` wants to exchange with `peer`; two ranks are connected once both have said so.
  virtual void WantPeer(int rank, int peer) = 0;
  virtual bool IsConnected(int rank, int peer) const = 0;
  // Operations that make progress together.
  virtual void Post(std::vector<Posted> cut) = 0;
  // Takes back what the endpoint has posted; it posts no more.
  virtual void Drop(const Endpoint& endpoint) = 0;

 private:
  int rank_count_;
};

// An id whose ranks are threads, or processes that share memory (shared_world.h).
ncclUniqueId MakeId();

// The world of `id`, which the first call makes. Fails (null) if it has another number of ranks.
std::shared_ptr<World> JoinWorld(const ncclUniqueId& id, int ranks,
                                 const std::shared_ptr<Endpoint>& endpoint);

// Drops what the endpoint has posted; its groups end, without having done their work. With the lock
// held.
void Abort(Endpoint& endpoint);

// One run of a group.
std::shared_ptr<Operation> RunGroup(std::shared_ptr<Endpoint> endpoint,
                                    std::shared_ptr<const std::vector<PointToPoint>> operations);

// What the communicator was asked for; null where nothing was.
const ncclConfig_t* ConfigOf(ncclComm_t communicator);

// What a test does to a rank, by its communicator. After `groups` more groups, and `operations`
// operations of the next one, the rank is dead.
void KillRank(ncclComm_t communicator, std::int64_t groups, std::int64_t operations = 0);
void SlowDown(ncclComm_t communicator, std::chrono::microseconds delay_before_group);
void FailAsynchronously(ncclComm_t communicator, ncclResult_t error);

}  // namespace reshard::doubles
