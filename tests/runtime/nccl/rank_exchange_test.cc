#include "runtime/nccl/rank_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/doubles/controls.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::chrono::steady_clock::time_point After(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

class RankExchangeTest : public ::testing::Test {
 protected:
  ~RankExchangeTest() override { EXPECT_TRUE(doubles::LiveObjects() == before_); }

  // Of three ranks, a thread each.
  static void OnRanks(
      const std::function<void(RankIndex, Communicator&, RankExchange&)>& function) {
    const UniqueId id = *MakeUniqueId();
    std::vector<std::thread> threads;
    for (RankIndex rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        CommunicatorOptions options;
        options.id = id;
        options.rank = rank;
        options.rank_count = 3;
        const auto communicator = Communicator::Make(options);
        ASSERT_TRUE(communicator);
        const auto exchange = RankExchange::Make("rank", **communicator);
        ASSERT_TRUE(exchange);
        function(rank, **communicator, **exchange);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const doubles::Live before_ = doubles::LiveObjects();
};

TEST_F(RankExchangeTest, TellsAllRanksWhatEachHas) {
  OnRanks([](RankIndex rank, Communicator&, RankExchange& exchange) {
    for (const std::size_t bytes : {5, 0, 1000}) {
      const std::vector<std::byte> own(bytes, static_cast<std::byte>(rank));
      const auto all = exchange.Gather(own, After(20s), "testing");
      ASSERT_TRUE(all) << ToString(all.error());
      std::vector<std::byte> wanted;
      for (int r = 0; r < 3; ++r) wanted.insert(wanted.end(), bytes, static_cast<std::byte>(r));
      EXPECT_EQ(*all, wanted);
    }
  });
}

TEST_F(RankExchangeTest, EveryRankGetsTheMinima) {
  OnRanks([](RankIndex rank, Communicator&, RankExchange& exchange) {
    const auto number = static_cast<std::uint64_t>(rank);
    std::vector<std::uint64_t> values = {number + 7, ~number, rank == 1 ? 3u : 4u};
    ASSERT_TRUE(exchange.MinimumOverRanks(values, After(20s), "testing"));
    EXPECT_THAT(values, ElementsAre(7, ~std::uint64_t{2}, 3));
    EXPECT_TRUE(exchange.MinimumOverRanks({}, After(20s), "testing"));
    EXPECT_TRUE(exchange.IsIdle());
  });
}

// Rank 0 never comes; who waited stops the communicator, and then nothing uses its memory.
TEST_F(RankExchangeTest, SaysWhenNotAllTookPart) {
  OnRanks([](RankIndex rank, Communicator& communicator, RankExchange& exchange) {
    if (rank == 0) {
      std::this_thread::sleep_for(200ms);
      return;
    }
    std::uint64_t value[] = {1};
    const Result<void> alone = exchange.MinimumOverRanks(value, After(50ms), "testing");
    ASSERT_FALSE(alone);
    EXPECT_THAT(ToString(alone.error()), HasSubstr("testing was not ready in time"));
    EXPECT_TRUE(communicator.Stop(1s));
    EXPECT_TRUE(exchange.IsIdle());
    EXPECT_THAT(ToString(exchange.MinimumOverRanks(value, After(1s), "testing").error()),
                HasSubstr("stopped after a failure"));
  });
}

}  // namespace
}  // namespace reshard
