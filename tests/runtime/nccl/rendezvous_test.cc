#include "runtime/nccl/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace reshard {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A port that two test programs of one machine hardly choose both.
ProcessPlace PlaceOf(RankIndex rank, int test) {
  const int port = 20000 + (getpid() % 4000) * 4 + test;
  return {rank, 4, 0, "127.0.0.1", static_cast<std::uint16_t>(port)};
}

TEST(RendezvousTest, EveryRankGetsWhatRank0Has) {
  std::vector<std::string> got(4);
  std::vector<std::thread> ranks;
  for (RankIndex rank = 3; rank >= 0; --rank) {
    ranks.emplace_back([&, rank] {
      const auto bytes =
          Broadcast(PlaceOf(rank, 0), rank == 0 ? "the unique id" : std::string(13, ' '), 30s);
      got[static_cast<std::size_t>(rank)] = bytes ? *bytes : ToString(bytes.error());
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(got, std::vector<std::string>(4, "the unique id"));
}

TEST(RendezvousTest, Rank0NamesWhoHasNotCome) {
  std::thread other([] { static_cast<void>(Broadcast(PlaceOf(2, 1), "x", 30s)); });
  const auto bytes = Broadcast(PlaceOf(0, 1), "y", 2s);
  other.join();
  ASSERT_FALSE(bytes);
  EXPECT_THAT(ToString(bytes.error()), HasSubstr("these ranks have not come in time: 1, 3"));
}

TEST(RendezvousTest, OthersSayThatRank0DidNotAnswer) {
  const auto bytes = Broadcast(PlaceOf(1, 2), "y", 50ms);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(ToString(bytes.error()), HasSubstr("rank 0 did not answer in time"));
}

// A listener that accepts nobody, and whose queue is full: the system answers no further connect,
// and would go on trying for two minutes.
TEST(RendezvousTest, AConnectThatIsNeverAnsweredEndsAtTheDeadline) {
  const ProcessPlace place = PlaceOf(1, 3);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(place.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  std::vector<int> queued;
  for (int i = 0; i < 4; ++i) {
    queued.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    static_cast<void>(
        connect(queued.back(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto bytes = Broadcast(place, "y", 200ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(ToString(bytes.error()), HasSubstr("rank 0 did not answer in time"));
  for (const int descriptor : queued) close(descriptor);
  close(listener);
}

// Someone else's program that connects and says a number that is no rank, though its low half is.
TEST(RendezvousTest, WhoIsNoRankIsNotCounted) {
  const ProcessPlace place = PlaceOf(0, 0);
  std::thread other([&place] {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(place.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::int64_t number = (std::int64_t{1} << 32) + 1;
    for (int i = 0; i < 50; ++i) {  // until rank 0 listens
      const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
      const bool is_connected =
          connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
      if (is_connected) {
        EXPECT_EQ(send(descriptor, &number, sizeof(number), MSG_NOSIGNAL), 8);
      }
      close(descriptor);
      if (is_connected) return;
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "rank 0 does not listen";
  });
  const auto bytes = Broadcast(place, "y", 1s);
  other.join();
  ASSERT_FALSE(bytes);
  EXPECT_THAT(ToString(bytes.error()), HasSubstr("have not come in time: 1, 2, 3"));
}

TEST(RendezvousTest, ReadsTheEnvironmentOfTorchrun) {
  const std::map<std::string, std::string> environment = {{"WORLD_SIZE", "8"},
                                                          {"RANK", "5"},
                                                          {"LOCAL_RANK", "1"},
                                                          {"MASTER_ADDR", "node0"},
                                                          {"MASTER_PORT", "29500"}};
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const Result<ProcessPlace> place = ReadProcessPlace();
  ASSERT_TRUE(place) << ToString(place.error());
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->rank_count, 8);
  EXPECT_EQ(place->device, 1);
  EXPECT_EQ(place->host, "node0");
  EXPECT_EQ(place->port, 29501);
  setenv("RESHARD_PORT", "1234", 1);
  EXPECT_EQ(ReadProcessPlace()->port, 1234);
  setenv("RANK", "8", 1);  // one too many
  EXPECT_THAT(ToString(ReadProcessPlace().error()),
              HasSubstr("RANK: is \"8\"; set it to a number"));
  setenv("RANK", "5", 1);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
    unsetenv("RESHARD_PORT");
    unsetenv(name.c_str());
    EXPECT_THAT(ToString(ReadProcessPlace().error()), HasSubstr(name + ": is not set"));
    setenv(name.c_str(), value.c_str(), 1);
  }
  for (const auto& [name, value] : environment) unsetenv(name.c_str());
}

}  // namespace
}  // namespace reshard
