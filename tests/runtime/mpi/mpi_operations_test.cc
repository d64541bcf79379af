#include "runtime/mpi/mpi_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/runtime/mpi/ranks.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A communicator for each test: what one leaves unmatched does not reach the next.
class MpiOperationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), MPI_SUCCESS);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  RankIndex rank() const { return TheWorld().rank(); }
  MpiOperations Operations() const { return {communicator_, "rank " + std::to_string(rank())}; }

  // Until all have ended or one has failed.
  static Result<void> Finish(MpiOperations& operations) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!operations.AllEnded() && std::chrono::steady_clock::now() < end) {
      if (const Result<bool> moved = operations.Progress(); !moved) {
        return tl::unexpected(moved.error());
      }
    }
    return {};
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
};

TEST_F(MpiOperationsTest, BytesGoRoundARing) {
  constexpr std::int64_t kBytes = 1'000'003;
  const std::vector<std::byte> sent(kBytes, static_cast<std::byte>(rank()));
  std::vector<std::byte> received(kBytes);
  MpiOperations operations = Operations();
  ASSERT_TRUE(operations.Receive((rank() + 4) % 5, received.data(), kBytes, 3));
  ASSERT_TRUE(operations.Send((rank() + 1) % 5, sent.data(), kBytes, 3));
  ASSERT_TRUE(Finish(operations));
  EXPECT_TRUE(operations.AllEnded());
  EXPECT_EQ(received, std::vector<std::byte>(kBytes, static_cast<std::byte>((rank() + 4) % 5)));
}

// As transfers beyond MPI's counts are, here with messages of 1000 bytes.
TEST_F(MpiOperationsTest, LongTransfersAreCutIntoMessages) {
  constexpr std::int64_t kBytes = 12'345;
  std::vector<std::byte> sent(kBytes);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 / 5);
  std::vector<std::byte> received(kBytes);
  MpiOperations operations(communicator_, "rank", 1000);
  ASSERT_TRUE(operations.Receive((rank() + 4) % 5, received.data(), kBytes, 1));
  ASSERT_TRUE(operations.Send((rank() + 1) % 5, sent.data(), kBytes, 1));
  ASSERT_TRUE(Finish(operations));
  EXPECT_EQ(received, sent);
}

TEST_F(MpiOperationsTest, AMessageOfAnotherSizeIsAnErrorThatNamesTheSender) {
  std::array<std::byte, 16> bytes = {};
  MpiOperations operations = Operations();
  if (rank() == 1) {
    ASSERT_TRUE(operations.Send(0, bytes.data(), 10, 1));
    ASSERT_TRUE(operations.Send(2, bytes.data(), 14, 1));
    EXPECT_TRUE(Finish(operations));
  } else if (rank() == 0 || rank() == 2) {
    ASSERT_TRUE(operations.Receive(1, bytes.data(), 12, 1));
    const Result<void> ended = Finish(operations);
    ASSERT_FALSE(ended);
    EXPECT_THAT(ToString(ended.error()), HasSubstr("rank 1"));
    if (rank() == 0) {
      EXPECT_THAT(ended.error().reason, HasSubstr("sent 10 bytes where 12 were expected"));
    }
  }
  Meet();
}

TEST_F(MpiOperationsTest, NamesThePeersThatAreMissingAndCallsThemOff) {
  std::array<std::byte, 8> bytes = {};
  MpiOperations operations = Operations();
  const RankIndex low = (rank() + 1) % 5;
  const RankIndex high = (rank() + 2) % 5;
  ASSERT_TRUE(operations.Receive(high, bytes.data(), 4, 1));
  ASSERT_TRUE(operations.Receive(low, bytes.data() + 4, 4, 1));
  const Result<bool> moved = operations.Progress();
  ASSERT_TRUE(moved);
  EXPECT_FALSE(*moved);
  EXPECT_THAT(operations.Peers(), ElementsAre(std::min(low, high), std::max(low, high)));
  EXPECT_TRUE(operations.Stop(std::chrono::seconds(10)));
  EXPECT_TRUE(operations.AllEnded());
  Meet();
}

// A send of many bytes needs its receiver: without one it cannot be called off.
TEST_F(MpiOperationsTest, ALongSendThatNobodyReceivesIsAbandoned) {
  static const std::vector<std::byte> bytes(std::size_t{64} << 20);  // for good, as MPI may read it
  MpiOperations operations = Operations();
  if (rank() == 1) {
    ASSERT_TRUE(operations.Send(0, bytes.data(), std::ssize(bytes), 1));
    EXPECT_FALSE(operations.Stop(std::chrono::milliseconds(50)));
  }
  Meet();
  // Its receiver comes after all, so that the program can end.
  if (rank() == 0) {
    std::vector<std::byte> received(bytes.size());
    ASSERT_TRUE(operations.Receive(1, received.data(), std::ssize(received), 1));
    ASSERT_TRUE(Finish(operations));
  } else if (rank() == 1) {
    EXPECT_TRUE(operations.Stop(std::chrono::seconds(60)));
  }
  Meet();
}

}  // namespace
}  // namespace reshard
