#include "tests/doubles/shared_world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "tests/doubles/device_memory.h"

namespace reshard::doubles {
namespace {

constexpr char kPrefix[] = "/reshard-doubles-";
constexpr std::chrono::microseconds kPollInterval{100};
constexpr std::uint64_t kSlots = 64;

// The shared memory, zero at first: the header, a rank's record each, then for every pair of ranks
// (from, to) a channel.
struct alignas(64) Header {
  std::atomic<std::int32_t> rank_count;
};

struct RankRecord {
  std::atomic<std::int64_t> process;  // 0: has not joined
  std::atomic<std::int64_t> memory;   // its descriptor of its device memory
  std::atomic<std::int32_t> aborted;
};

struct Channel {
  std::atomic<std::int32_t> wanted;   // by `from`
  std::atomic<std::uint64_t> posted;  // sends, by `from`
  std::atomic<std::uint64_t> taken;   // of them, by `to`
  struct {
    std::uint64_t offset = 0;  // in the device memory of `from`
    std::uint64_t bytes = 0;
  } slots[kSlots];  // send number n in n % kSlots
};

class SharedWorld final : public World {
 public:
  SharedWorld(std::string name, int rank_count, void* memory, std::size_t bytes)
      : World(rank_count), name_(std::move(name)), memory_(memory), bytes_(bytes) {}
  ~SharedWorld() override {
    munmap(memory_, bytes_);
    for (const auto& [rank, view] : views_)
      munmap(const_cast<std::byte*>(view), DeviceRangeBytes());
    shm_unlink(name_.c_str());
  }

  bool Join(const std::shared_ptr<Endpoint>& endpoint) override {
    RankRecord& record = RecordOf(endpoint->rank);
    std::int64_t nobody = 0;
    record.memory = DeviceFile();
    return record.process.compare_exchange_strong(nobody, getpid());
  }

  bool IsComplete() const override {
    for (int rank = 0; rank < rank_count(); ++rank) {
      if (RecordOf(rank).process == 0) return false;
    }
    return true;
  }

  void WantPeer(int rank, int peer) override { ChannelOf(rank, peer).wanted = 1; }
  bool IsConnected(int rank, int peer) const override {
    return ChannelOf(rank, peer).wanted != 0 && ChannelOf(peer, rank).wanted != 0;
  }

  void Post(std::vector<Posted> cut) override {
    for (Posted& posted : cut) {
      const Pair pair = posted.operation.sends ? Pair{posted.endpoint->rank, posted.operation.peer}
                                               : Pair{posted.operation.peer, posted.endpoint->rank};
      (posted.operation.sends ? sends_ : receives_)[pair].push_back({std::move(posted), 0});
    }
    Poll();
  }

  void Drop(const Endpoint& endpoint) override {
    RecordOf(endpoint.rank).aborted = 1;
    for (auto* ends : {&sends_, &receives_}) {
      for (auto& [pair, queue] : *ends) {
        std::erase_if(queue, [&endpoint](const Waiting& waiting) {
          return waiting.posted.endpoint.get() == &endpoint;
        });
      }
    }
  }

  // Does what other processes have made possible; with the lock held.
  void Poll() {
    // What ends may post more.
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<Posted> ended;
      for (auto& [pair, queue] : sends_) Announce(ChannelOf(pair.first, pair.second), queue, ended);
      for (auto& [pair, queue] : receives_) Take(pair, queue, ended);
      for (const Posted& posted : ended) posted.ended();
      moved = !ended.empty();
    }
    if (is_linked_ && IsComplete()) {
      is_linked_ = false;  // all have it open
      shm_unlink(name_.c_str());
    }
  }

 private:
  using Pair = std::pair<int, int>;  // from, to
  struct Waiting {
    Posted posted;
    std::uint64_t number = 0;  // of a send that was announced, from 1
  };

  RankRecord& RecordOf(int rank) const {
    return reinterpret_cast<RankRecord*>(static_cast<std::byte*>(memory_) + sizeof(Header))[rank];
  }
  Channel& ChannelOf(int from, int to) const {
    auto* const channels = reinterpret_cast<Channel*>(&RecordOf(rank_count()));
    return channels[from * rank_count() + to];
  }

  static void Announce(Channel& channel, std::deque<Waiting>& queue, std::vector<Posted>& ended) {
    while (!queue.empty() && queue.front().number != 0 && queue.front().number <= channel.taken) {
      ended.push_back(std::move(queue.front().posted));
      queue.pop_front();
    }
    for (Waiting& waiting : queue) {
      if (waiting.number != 0) continue;
      const std::uint64_t number = channel.posted;
      if (number - channel.taken >= kSlots) return;
      channel.slots[number % kSlots] = {OffsetInDevice(waiting.posted.operation.data),
                                        waiting.posted.operation.bytes};
      channel.posted = waiting.number = number + 1;
    }
  }

  void Take(Pair pair, std::deque<Waiting>& queue, std::vector<Posted>& ended) {
    Channel& channel = ChannelOf(pair.first, pair.second);
    while (!queue.empty() && channel.taken < channel.posted && RecordOf(pair.first).aborted == 0) {
      const auto slot = channel.slots[channel.taken % kSlots];
      const PointToPoint& operation = queue.front().posted.operation;
      if (slot.bytes != operation.bytes) return;  // stuck for ever
      const std::byte* const view = ViewOf(pair.first);
      if (view == nullptr) return;
      std::memcpy(InOpenView(operation.data), view + slot.offset, slot.bytes);
      ++channel.taken;
      ended.push_back(std::move(queue.front().posted));
      queue.pop_front();
    }
  }

  // The device memory of a rank; null where its process is gone before it was asked for.
  const std::byte* ViewOf(int rank) {
    const auto known = views_.find(rank);
    if (known != views_.end()) return known->second;
    const RankRecord& record = RecordOf(rank);
    const std::string path =
        "/proc/" + std::to_string(record.process) + "/fd/" + std::to_string(record.memory);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const view =
        mmap(nullptr, DeviceRangeBytes(), PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (view == MAP_FAILED) return nullptr;
    return views_[rank] = static_cast<const std::byte*>(view);
  }

  std::string name_;
  void* memory_;
  std::size_t bytes_;
  bool is_linked_ = true;
  std::map<Pair, std::deque<Waiting>> sends_;
  std::map<Pair, std::deque<Waiting>> receives_;
  std::map<int, const std::byte*> views_;
};

// Ends when the world has gone.
void PollForEver(const std::weak_ptr<SharedWorld>& weak) {
  for (;;) {
    {
      const std::lock_guard lock(TheProgress().mutex);
      const std::shared_ptr<SharedWorld> world = weak.lock();
      if (world == nullptr) return;
      world->Poll();
    }
    // Ranks that have joined or connected are asked for by whoever waits.
    TheProgress().changed.notify_all();
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace

std::string SharedWorldName(std::uint64_t number) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return kPrefix + std::to_string(getpid()) + "-" + std::to_string(now) + "-" +
         std::to_string(number);
}

bool IsSharedWorldName(const char* name) {
  return std::strncmp(name, kPrefix, sizeof(kPrefix) - 1) == 0;
}

std::shared_ptr<World> MakeSharedWorld(const std::string& name, int rank_count) {
  const auto ranks = static_cast<std::size_t>(rank_count);
  const std::size_t bytes =
      sizeof(Header) + 64 + ranks * sizeof(RankRecord) + ranks * ranks * sizeof(Channel);
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  struct stat state = {};
  if (fstat(file, &state) == 0 &&
      (state.st_size == 0 || state.st_size == static_cast<off_t>(bytes)) &&
      ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) return nullptr;
  std::int32_t none = 0;
  if (!static_cast<Header*>(memory)->rank_count.compare_exchange_strong(none, rank_count) &&
      none != rank_count) {
    munmap(memory, bytes);
    return nullptr;
  }
  auto world = std::make_shared<SharedWorld>(name, rank_count, memory, bytes);
  std::thread([weak = std::weak_ptr<SharedWorld>(world)] { PollForEver(weak); }).detach();
  return world;
}

}  // namespace reshard::doubles
