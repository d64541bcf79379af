#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/doubles/controls.h"
#include "tests/doubles/nccl_world.h"

namespace reshard::doubles {
namespace {

using namespace std::chrono_literals;

// Long enough for what comes, short enough for what never comes.
constexpr auto kPatience = 100ms;

// Ranks that one thread plays: non-blocking communicators, a stream and some memory each.
class NcclTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 1 << 16;

  struct Rank {
    ncclComm_t communicator = nullptr;
    cudaStream_t stream = nullptr;
    std::byte* data = nullptr;
  };

  void Make(int ranks) {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ranks_.resize(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      Rank& rank = ranks_[static_cast<std::size_t>(r)];
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      const ncclResult_t made = ncclCommInitRankConfig(&rank.communicator, ranks, id, r, &config);
      EXPECT_EQ(made, r + 1 < ranks ? ncclInProgress : ncclSuccess);
      EXPECT_EQ(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), cudaSuccess);
      void* memory = nullptr;
      EXPECT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
      rank.data = static_cast<std::byte*>(memory);
      EXPECT_EQ(cudaMemset(memory, r + 1, kBytes), cudaSuccess);
    }
  }
  ~NcclTest() override {
    Controls controls = usual_;
    SetControls(controls);
    for (Rank& rank : ranks_) {
      if (rank.communicator != nullptr) {
        EXPECT_EQ(ncclCommAbort(rank.communicator), ncclSuccess);
      }
      EXPECT_EQ(cudaStreamSynchronize(rank.stream), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(rank.stream), cudaSuccess);
      EXPECT_EQ(cudaFree(rank.data), cudaSuccess);
    }
    EXPECT_TRUE(LiveObjects() == before_);
  }

  Rank& At(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  ncclResult_t Send(int rank, int peer, std::size_t offset, std::size_t bytes) {
    return ncclSend(At(rank).data + offset, bytes, ncclInt8, peer, At(rank).communicator,
                    At(rank).stream);
  }
  ncclResult_t Receive(int rank, int peer, std::size_t offset, std::size_t bytes) {
    return ncclRecv(At(rank).data + offset, bytes, ncclInt8, peer, At(rank).communicator,
                    At(rank).stream);
  }
  ncclResult_t Poll(int rank) {
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(At(rank).communicator, &state), ncclSuccess);
    return state;
  }
  // Polls all until none is in progress.
  bool Settle(std::vector<int> ranks) {
    for (int round = 0; round < 3; ++round) {
      bool settled = true;
      for (const int rank : ranks) settled = Poll(rank) == ncclSuccess && settled;
      if (settled) return true;
    }
    return false;
  }
  bool Ends(int rank) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (cudaStreamQuery(At(rank).stream) == cudaSuccess) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  int Value(int rank, std::size_t offset) {
    std::byte value{};
    EXPECT_EQ(cudaMemcpy(&value, At(rank).data + offset, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    return static_cast<int>(value);
  }

  Live before_ = LiveObjects();
  Controls usual_ = GetControls();
  std::vector<Rank> ranks_;
};

TEST_F(NcclTest, SendsToWhoReceives) {
  Make(2);
  EXPECT_EQ(Send(0, 1, 0, 100), ncclInProgress);  // the two are not connected yet
  EXPECT_EQ(Receive(1, 0, 200, 100), ncclSuccess);
  EXPECT_TRUE(Settle({0, 1}));
  EXPECT_TRUE(Ends(0));
  EXPECT_TRUE(Ends(1));
  EXPECT_EQ(Value(1, 199), 2);
  EXPECT_EQ(Value(1, 200), 1);
  EXPECT_EQ(Value(1, 299), 1);
  EXPECT_EQ(Value(1, 300), 2);
}

TEST_F(NcclTest, KeepsTheOrderBetweenTwoRanks) {
  Make(2);
  ASSERT_EQ(cudaMemset(At(0).data + 10, 7, 10), cudaSuccess);
  ncclGroupStart();
  Send(0, 1, 0, 10);
  Send(0, 1, 10, 10);
  ncclGroupEnd();
  ncclGroupStart();
  Receive(1, 0, 100, 10);
  Receive(1, 0, 200, 10);
  ncclGroupEnd();
  EXPECT_TRUE(Settle({0, 1}));
  EXPECT_TRUE(Ends(1));
  EXPECT_EQ(Value(1, 100), 1);
  EXPECT_EQ(Value(1, 200), 7);
}

TEST_F(NcclTest, AGroupEndsAsAWhole) {
  Make(3);
  ncclGroupStart();
  Receive(0, 1, 0, 10);
  Receive(0, 2, 10, 10);
  ncclGroupEnd();
  Send(1, 0, 0, 10);
  Send(2, 0, 0, 11);  // another size: never
  EXPECT_TRUE(Settle({0, 1, 2}));
  EXPECT_TRUE(Ends(1));
  EXPECT_FALSE(Ends(0));
  EXPECT_FALSE(Ends(2));
}

// Rank 1 forwards in the group in which it receives: sometimes the old byte goes on.
TEST_F(NcclTest, DoesNotOrderAReceiveAndASendOfOneGroup) {
  Make(3);
  bool saw_old = false;
  bool saw_new = false;
  for (int i = 0; i < 64 && !(saw_old && saw_new); ++i) {
    ASSERT_EQ(cudaMemset(At(1).data, 2, 10), cudaSuccess);
    Send(0, 1, 0, 10);
    ncclGroupStart();
    Receive(1, 0, 0, 10);
    Send(1, 2, 0, 10);
    ncclGroupEnd();
    Receive(2, 1, 0, 10);
    EXPECT_TRUE(Settle({0, 1, 2}));
    for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(Ends(rank));
    (Value(2, 0) == 1 ? saw_new : saw_old) = true;
  }
  EXPECT_TRUE(saw_old);
  EXPECT_TRUE(saw_new);
}

// C12: two ranks that list their sends first hang where the sends alone fill a cut.
TEST_F(NcclTest, LongListsAreCutAndHang) {
  Make(2);
  for (const int operations : {4000, 12000}) {
    for (const int rank : {0, 1}) {
      ncclGroupStart();
      for (int i = 0; i < operations; ++i) Send(rank, 1 - rank, 0, 1);
      for (int i = 0; i < operations; ++i) Receive(rank, 1 - rank, 1, 1);
      ncclGroupEnd();
    }
    EXPECT_TRUE(Settle({0, 1}));
    EXPECT_EQ(Ends(0) && Ends(1), operations == 4000) << operations;
  }
}

TEST_F(NcclTest, AMissingPeerIsNeverConnected) {
  Make(2);
  EXPECT_EQ(Send(0, 1, 0, 10), ncclInProgress);
  EXPECT_FALSE(Settle({0}));
  EXPECT_TRUE(Ends(0));  // nothing was launched
}

TEST_F(NcclTest, SaysInProgressAsOftenAsOrdered) {
  Controls controls = usual_;
  controls.polls_in_progress = 2;
  SetControls(controls);
  Make(1);
  ncclGroupStart();
  Send(0, 0, 0, 10);
  Receive(0, 0, 50, 10);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  EXPECT_EQ(Poll(0), ncclInProgress);
  EXPECT_EQ(Poll(0), ncclInProgress);
  EXPECT_EQ(Poll(0), ncclSuccess);
  EXPECT_TRUE(Ends(0));
}

TEST_F(NcclTest, ADeadRankStopsInTheMiddleOfAGroup) {
  Make(3);
  KillRank(At(0).communicator, 1, 1);
  for (int i = 0; i < 2; ++i) {
    ncclGroupStart();
    Send(0, 1, 0, 10);
    Send(0, 2, 0, 10);
    ncclGroupEnd();
    for (const int rank : {1, 2}) Receive(rank, 0, 0, 10);
    EXPECT_TRUE(Settle({0, 1, 2}));
    EXPECT_TRUE(Ends(1));
    EXPECT_EQ(Ends(2), i == 0);
    EXPECT_EQ(Ends(0), i == 0);
  }
}

TEST_F(NcclTest, AbortEndsWhatWaits) {
  Make(2);
  Send(0, 1, 0, 10);
  Receive(1, 0, 0, 11);
  EXPECT_TRUE(Settle({0, 1}));
  EXPECT_FALSE(Ends(0));
  EXPECT_EQ(ncclCommAbort(At(0).communicator), ncclSuccess);
  At(0).communicator = nullptr;
  EXPECT_TRUE(Ends(0));
  EXPECT_FALSE(Ends(1));  // nobody told it
}

TEST_F(NcclTest, AbortHangsOnDemand) {
  Make(1);
  Controls controls = usual_;
  controls.abort_hangs = true;
  SetControls(controls);
  std::atomic<bool> returned = false;
  std::thread aborter([&] {
    ncclCommAbort(At(0).communicator);
    returned = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(returned);
  SetControls(usual_);
  aborter.join();
  At(0).communicator = nullptr;
}

TEST_F(NcclTest, ReportsAnAsynchronousError) {
  Make(1);
  FailAsynchronously(At(0).communicator, ncclRemoteError);
  EXPECT_EQ(Poll(0), ncclRemoteError);
}

TEST_F(NcclTest, GathersFromAll) {
  Make(3);
  for (int rank = 0; rank < 3; ++rank) {
    ncclAllGather(At(rank).data, At(rank).data + 100, 5, ncclInt8, At(rank).communicator,
                  At(rank).stream);
  }
  EXPECT_TRUE(Settle({0, 1, 2}));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(Ends(rank));
    EXPECT_EQ(Value(rank, 100), 1);
    EXPECT_EQ(Value(rank, 109), 2);
    EXPECT_EQ(Value(rank, 110), 3);
  }
}

// Bytes of rank r are r + 1, so the numbers ascend with the rank.
TEST_F(NcclTest, ReducesToTheMinimumOfAll) {
  Make(3);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_NE(ncclAllReduce(At(rank).data, At(rank).data + 96, 2, ncclUint64, ncclMax,
                            At(rank).communicator, At(rank).stream),
              ncclInProgress);
    ncclAllReduce(At(rank).data, At(rank).data + 96, 2, ncclUint64, ncclMin, At(rank).communicator,
                  At(rank).stream);
  }
  EXPECT_TRUE(Settle({0, 1, 2}));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(Ends(rank));
    EXPECT_EQ(Value(rank, 96), 1);
    EXPECT_EQ(Value(rank, 111), 1);
    EXPECT_EQ(Value(rank, 112), rank + 1);
  }
}

TEST_F(NcclTest, RefusesHostMemoryAndUnknownPeers) {
  Make(1);
  std::byte host[10];
  EXPECT_EQ(ncclSend(host, 10, ncclInt8, 0, At(0).communicator, At(0).stream), ncclInvalidArgument);
  EXPECT_EQ(Send(0, 1, 0, 10), ncclInvalidArgument);
  EXPECT_EQ(Send(0, 0, kBytes - 5, 10), ncclInvalidArgument);
}

// A group that a stream captures runs at every replay.
TEST_F(NcclTest, GroupsAreCaptured) {
  Make(2);
  for (const int rank : {0, 1}) {
    ASSERT_EQ(cudaStreamBeginCapture(At(rank).stream, cudaStreamCaptureModeThreadLocal),
              cudaSuccess);
  }
  Send(0, 1, 0, 10);
  Receive(1, 0, 0, 10);
  EXPECT_TRUE(Settle({0, 1}));
  cudaGraph_t graphs[2] = {};
  for (const int rank : {0, 1}) {
    ASSERT_EQ(cudaStreamEndCapture(At(rank).stream, &graphs[rank]), cudaSuccess);
  }
  cudaGraphExec_t executables[2] = {};
  for (const int rank : {0, 1}) {
    ASSERT_EQ(cudaGraphInstantiate(&executables[rank], graphs[rank], 0), cudaSuccess);
    cudaGraphDestroy(graphs[rank]);
  }
  for (const int value : {5, 6}) {
    ASSERT_EQ(cudaMemset(At(0).data, value, 10), cudaSuccess);
    for (const int rank : {0, 1}) cudaGraphLaunch(executables[rank], At(rank).stream);
    EXPECT_TRUE(Ends(0));
    EXPECT_TRUE(Ends(1));
    EXPECT_EQ(Value(1, 0), value);
  }
  for (cudaGraphExec_t executable : executables) cudaGraphExecDestroy(executable);
}

}  // namespace
}  // namespace reshard::doubles
