#include <gtest/gtest.h>

#include <cstdio>

#include "tests/runtime/mpi/ranks.h"

namespace reshard {

const MpiWorld& TheWorld() {
  static const MpiWorld world = *MpiWorld::Start();
  return world;
}

void Meet() {
  std::uint64_t nothing[] = {0};
  ASSERT_TRUE(TheWorld().MinimumOverRanks(nothing, std::chrono::seconds(60), "meeting"));
}

}  // namespace reshard

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const reshard::MpiWorld& world = reshard::TheWorld();
  // One report is enough; failures of the others say which rank they are of.
  if (world.rank() != 0) {
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  class FailurePrinter : public ::testing::EmptyTestEventListener {
    void OnTestPartResult(const ::testing::TestPartResult& result) override {
      if (!result.failed()) return;
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", reshard::TheWorld().rank(), result.file_name(),
                   result.line_number(), result.summary());
    }
  };
  if (world.rank() != 0) {
    ::testing::UnitTest::GetInstance()->listeners().Append(new FailurePrinter);
  }
  const int status = RUN_ALL_TESTS();
  world.Finish();
  return status;
}
