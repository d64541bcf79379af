#include "runtime/nccl/rendezvous.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "runtime/deadline.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// Whether the socket, which does not block, can be used for `events` before the deadline.
bool WaitUntil(const Socket& socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted = {socket.get(), events, 0};
    const int ready =
        poll(&wanted, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready == 0 ? left <= 1 << 30 : errno != EINTR) return false;
  }
}

bool IsToBeTriedAgain(int error) {
  return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
}

// A machine that drops packets answers no connect for minutes.
bool Connect(const Socket& socket, const addrinfo& address, Clock::time_point deadline) {
  if (!socket.is_open()) return false;
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !WaitUntil(socket, POLLOUT, deadline)) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

bool Send(const Socket& socket, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    if (!WaitUntil(socket, POLLOUT, deadline)) return false;
    const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0 && !IsToBeTriedAgain(errno)) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Receive(const Socket& socket, std::string& bytes, Clock::time_point deadline) {
  for (std::size_t done = 0; done < bytes.size();) {
    if (!WaitUntil(socket, POLLIN, deadline)) return false;
    const ssize_t got = recv(socket.get(), bytes.data() + done, bytes.size() - done, 0);
    if (got == 0 || (got < 0 && !IsToBeTriedAgain(errno))) return false;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return true;
}

struct AddressDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressDeleter>;

AddressList Resolve(const char* host, std::uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = host == nullptr ? AI_PASSIVE : 0;
  addrinfo* list = nullptr;
  if (getaddrinfo(host, std::to_string(port).c_str(), &hints, &list) != 0) return nullptr;
  return AddressList(list);
}

Socket Open(const addrinfo& address) {
  return Socket(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       address.ai_protocol));
}

std::string Name(const ProcessPlace& place) {
  return place.host + ":" + std::to_string(place.port);
}

Result<std::int64_t> ReadNumber(const char* variable, std::int64_t limit) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) {
    return InputError(variable, "is not set",
                      "start one process per rank with torchrun, or set RANK, WORLD_SIZE, "
                      "LOCAL_RANK, MASTER_ADDR and MASTER_PORT");
  }
  std::int64_t value = -1;
  const char* const end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stopped != end || value < 0 || value > limit) {
    return InputError(variable, "is \"" + std::string(text) + "\"",
                      "set it to a number from 0 to " + std::to_string(limit));
  }
  return value;
}

Result<std::string> Serve(const ProcessPlace& place, const std::string& bytes,
                          Clock::time_point deadline) {
  const AddressList addresses = Resolve(nullptr, place.port);
  if (addresses == nullptr) return RunError(Name(place), "cannot be listened on");
  const Socket listener = Open(*addresses);
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (!listener.is_open() || bind(listener.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    return RunError(Name(place), std::string("cannot be listened on: ") + std::strerror(errno),
                    "set RESHARD_PORT to a free port");
  }
  std::set<RankIndex> missing;
  for (RankIndex rank = 1; rank < place.rank_count; ++rank) missing.insert(rank);
  while (!missing.empty()) {
    if (!WaitUntil(listener, POLLIN, deadline)) {
      std::string who;
      for (const RankIndex rank : missing) who += (who.empty() ? "" : ", ") + std::to_string(rank);
      return RunError(Name(place), "these ranks have not come in time: " + who,
                      "look at them, start all again");
    }
    const Socket peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    std::string rank(8, '\0');
    // Whoever does not say its rank at once is no process of this job.
    const Clock::time_point soon = std::min(deadline, Clock::now() + std::chrono::seconds(2));
    if (!peer.is_open() || !Receive(peer, rank, soon)) continue;
    std::int64_t number = 0;
    std::memcpy(&number, rank.data(), sizeof(number));
    if (number < 1 || number >= place.rank_count) continue;
    if (Send(peer, bytes, deadline)) missing.erase(static_cast<RankIndex>(number));
  }
  return bytes;
}

constexpr std::chrono::seconds kConnectPatience{3};

Result<std::string> Ask(const ProcessPlace& place, std::size_t size, Clock::time_point deadline) {
  const std::int64_t number = place.rank;
  std::string rank(sizeof(number), '\0');
  std::memcpy(rank.data(), &number, sizeof(number));
  for (;;) {
    const AddressList addresses = Resolve(place.host.c_str(), place.port);
    for (const addrinfo* address = addresses.get(); address != nullptr;
         address = address->ai_next) {
      const Socket server = Open(*address);
      // A host may have addresses that nothing answers at; none of them may use up the time.
      if (!Connect(server, *address, std::min(deadline, Clock::now() + kConnectPatience))) continue;
      std::string bytes(size, '\0');
      if (Send(server, rank, deadline) && Receive(server, bytes, deadline)) return bytes;
    }
    if (Clock::now() >= deadline) {
      return RunError(Name(place), "rank 0 did not answer in time",
                      "look at rank 0; check MASTER_ADDR and the ports between the machines");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // rank 0 may come later
  }
}

}  // namespace

Result<ProcessPlace> ReadProcessPlace() {
  constexpr std::int64_t kPort = 65535;
  ProcessPlace place;
  const Result<std::int64_t> rank_count = ReadNumber("WORLD_SIZE", 1 << 30);
  if (!rank_count) return tl::unexpected(rank_count.error());
  const Result<std::int64_t> rank = ReadNumber("RANK", *rank_count - 1);
  if (!rank) return tl::unexpected(rank.error());
  const Result<std::int64_t> device = ReadNumber("LOCAL_RANK", 1 << 20);
  if (!device) return tl::unexpected(device.error());
  const bool has_own_port = std::getenv("RESHARD_PORT") != nullptr;
  const Result<std::int64_t> port =
      has_own_port ? ReadNumber("RESHARD_PORT", kPort) : ReadNumber("MASTER_PORT", kPort - 1);
  if (!port) return tl::unexpected(port.error());
  const char* const host = std::getenv("MASTER_ADDR");
  if (host == nullptr) return InputError("MASTER_ADDR", "is not set", "name the host of rank 0");
  place.rank = static_cast<RankIndex>(*rank);
  place.rank_count = static_cast<RankIndex>(*rank_count);
  place.device = static_cast<int>(*device);
  place.host = host;
  place.port = static_cast<std::uint16_t>(*port + (has_own_port ? 0 : 1));
  return place;
}

Result<std::string> Broadcast(const ProcessPlace& place, const std::string& bytes,
                              std::chrono::nanoseconds deadline) {
  const Clock::time_point end = DeadlineAfter(deadline);
  return place.rank == 0 ? Serve(place, bytes, end) : Ask(place, bytes.size(), end);
}

}  // namespace reshard
