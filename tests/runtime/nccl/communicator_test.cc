#include "runtime/nccl/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <chrono>
#include <thread>

#include "tests/doubles/controls.h"
#include "tests/doubles/nccl_world.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CommunicatorTest : public ::testing::Test {
 protected:
  ~CommunicatorTest() override { EXPECT_TRUE(doubles::LiveObjects() == before_); }
  static CommunicatorOptions Options(const UniqueId& id, RankIndex rank, RankIndex rank_count) {
    CommunicatorOptions options;
    options.id = id;
    options.rank = rank;
    options.rank_count = rank_count;
    options.deadline = 200ms;
    return options;
  }
  const doubles::Live before_ = doubles::LiveObjects();
};

TEST_F(CommunicatorTest, IsMadeByAllRanksTogether) {
  const UniqueId id = *MakeUniqueId();
  Result<std::shared_ptr<Communicator>> second = nullptr;
  std::thread other([&] { second = Communicator::Make(Options(id, 1, 2)); });
  const Result<std::shared_ptr<Communicator>> first = Communicator::Make(Options(id, 0, 2));
  other.join();
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->rank_count(), 2);
  EXPECT_EQ((*second)->rank(), 1);
  EXPECT_TRUE((*first)->CheckHealth());
}

TEST_F(CommunicatorTest, ARankThatNeverJoinsIsWaitedForAsLongAsTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  const auto made = Communicator::Make(Options(*MakeUniqueId(), 0, 2));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1200ms);
  ASSERT_FALSE(made);
  EXPECT_THAT(ToString(made.error()), HasSubstr("a communicator of 2 ranks was not ready in time"));
}

TEST_F(CommunicatorTest, ReportsWhatNcclNoticed) {
  const auto made = Communicator::Make(Options(*MakeUniqueId(), 0, 1));
  ASSERT_TRUE(made);
  doubles::FailAsynchronously((*made)->handle(), ncclRemoteError);
  EXPECT_THAT(ToString((*made)->CheckHealth().error()), HasSubstr("remote process exited"));
}

TEST_F(CommunicatorTest, StopsAndIsReleasedInTheEnd) {
  {
    const auto made = Communicator::Make(Options(*MakeUniqueId(), 0, 1));
    ASSERT_TRUE(made);
    EXPECT_FALSE((*made)->is_stopped());
    EXPECT_TRUE((*made)->Stop(1s));
    EXPECT_TRUE((*made)->is_stopped());
    // Graphs may refer to it.
    EXPECT_EQ(doubles::LiveObjects().communicators, before_.communicators + 1);
    const std::string wanted = "was stopped after a failure";
    EXPECT_THAT(ToString((*made)->CheckHealth().error()), HasSubstr(wanted));
    EXPECT_THAT(ToString((*made)->Settle({}, "testing").error()), HasSubstr(wanted));
  }
  EXPECT_EQ(doubles::LiveObjects().communicators, before_.communicators);
}

// The communicator is lost, as it has to be: nobody knows whether the call still uses it.
TEST(HangingCommunicatorTest, IsGivenUp) {
  // What is given up is lost on purpose; volatile, or the compiler forgets what is never read.
  [[maybe_unused]] static ncclComm* volatile lost = nullptr;
  const auto made = Communicator::Make({*MakeUniqueId(), 0, 1, {}, 1s});
  ASSERT_TRUE(made);
  lost = (*made)->handle();
  const doubles::Controls usual = doubles::GetControls();
  doubles::Controls controls = usual;
  controls.abort_hangs = true;
  doubles::SetControls(controls);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE((*made)->Stop(50ms));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  doubles::SetControls(usual);
}

// NCCL is told that it may not block, and exactly what the plan says of its peers: from version
// 2.28 on how many channels a network peer gets, from 2.30 on how many peers there are. Of what the
// plan does not say, nothing.
TEST_F(CommunicatorTest, TellsNcclWhatThePlanSays) {
  for (const ChannelHints& hints :
       {ChannelHints{}, ChannelHints{8, 0}, ChannelHints{0, 2}, ChannelHints{76, 16}}) {
    CommunicatorOptions options = Options(*MakeUniqueId(), 0, 1);
    options.channels = hints;
    const auto made = Communicator::Make(options);
    ASSERT_TRUE(made);
    const ncclConfig_t* const config = doubles::ConfigOf((*made)->handle());
    ASSERT_NE(config, nullptr);
    EXPECT_EQ(config->blocking, 0);
    [[maybe_unused]] const auto told = [](std::int64_t hint) {
      return hint > 0 ? static_cast<int>(hint) : NCCL_CONFIG_UNDEF_INT;
    };
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    EXPECT_EQ(config->nChannelsPerNetPeer, told(hints.channels_per_net_peer));
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
    EXPECT_EQ(config->maxP2pPeers, told(hints.max_p2p_peers));
#endif
  }
}

TEST_F(CommunicatorTest, LeavesACommunicatorOfTheCallerToTheCaller) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t handle = nullptr;
  ASSERT_EQ(ncclCommInitRank(&handle, 1, id, 0), ncclSuccess);
  {
    const auto adopted = Communicator::Adopt(handle);
    ASSERT_TRUE(adopted);
    EXPECT_EQ((*adopted)->rank_count(), 1);
  }
  EXPECT_EQ(ncclCommDestroy(handle), ncclSuccess);
}

}  // namespace
}  // namespace reshard
