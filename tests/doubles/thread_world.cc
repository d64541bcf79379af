#include "tests/doubles/thread_world.h"

#include <cstring>

#include "tests/doubles/controls.h"
#include "tests/doubles/device_memory.h"

namespace reshard::doubles {

ThreadWorld::ThreadWorld(int rank_count)
    : World(rank_count),
      endpoints_(static_cast<std::size_t>(rank_count)),
      random_(GetControls().seed) {}

bool ThreadWorld::Join(const std::shared_ptr<Endpoint>& endpoint) {
  std::shared_ptr<Endpoint>& place = endpoints_[static_cast<std::size_t>(endpoint->rank)];
  if (place != nullptr) return false;
  place = endpoint;
  ++joined_;
  return true;
}

void ThreadWorld::WantPeer(int rank, int peer) {
  if (wanted_.insert({rank, peer}).second) TheProgress().changed.notify_all();
}

bool ThreadWorld::IsConnected(int rank, int peer) const {
  return wanted_.count({rank, peer}) > 0 && wanted_.count({peer, rank}) > 0;
}

void ThreadWorld::MayReadEarly(Waiting& waiting) {
  const PointToPoint& operation = waiting.posted.operation;
  if (!operation.sends || random_() % 2 == 0) return;
  const std::byte* const data = InOpenView(operation.data);
  waiting.read_early.emplace(data, data + operation.bytes);
}

void ThreadWorld::Post(std::vector<Posted> cut) {
  std::vector<Waiting> all;
  for (Posted& posted : cut) {
    all.push_back({std::move(posted), std::nullopt});
    MayReadEarly(all.back());
  }
  for (Waiting& waiting : all) Match(std::move(waiting));
}

void ThreadWorld::Match(Waiting waiting) {
  const int own = waiting.posted.endpoint->rank;
  const int peer = waiting.posted.operation.peer;
  const bool is_send = waiting.posted.operation.sends;
  const Pair pair = is_send ? Pair{own, peer} : Pair{peer, own};
  (is_send ? sends_ : receives_)[pair].push_back(std::move(waiting));
  std::deque<Waiting>& senders = sends_[pair];
  std::deque<Waiting>& receivers = receives_[pair];
  while (!senders.empty() && !receivers.empty() &&
         senders.front().posted.operation.bytes == receivers.front().posted.operation.bytes) {
    const Waiting send = std::move(senders.front());
    const Waiting receive = std::move(receivers.front());
    senders.pop_front();
    receivers.pop_front();
    const PointToPoint& from = send.posted.operation;
    const std::byte* const bytes =
        send.read_early ? send.read_early->data() : InOpenView(from.data);
    std::memmove(InOpenView(receive.posted.operation.data), bytes, from.bytes);
    send.posted.ended();
    receive.posted.ended();
  }
}

void ThreadWorld::Drop(const Endpoint& endpoint) {
  for (auto* ends : {&sends_, &receives_}) {
    for (auto& [pair, queue] : *ends) {
      std::erase_if(queue, [&endpoint](const Waiting& waiting) {
        return waiting.posted.endpoint.get() == &endpoint;
      });
    }
  }
}

}  // namespace reshard::doubles
