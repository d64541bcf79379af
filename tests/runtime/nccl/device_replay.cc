// The engine on one real GPU, for tools/device-check.sh: prints rows of its table. Linked to the
// doubles it is a test like any other.
#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/runtime/nccl/gpu_team.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

constexpr std::chrono::seconds kDeadline{30};
constexpr std::int64_t kRows = 1024;
constexpr std::int64_t kColumns = 2048;
constexpr std::int64_t kBytes = 2 * kRows * kColumns;  // BF16

RankLayout Whole() {
  RankLayout layout;
  layout.parameters = {{"w", DType::kBF16, {kRows, kColumns}}};
  const std::int64_t begin[] = {0, 0};
  const std::int64_t extent[] = {kRows, kColumns};
  const std::int64_t stride[] = {kColumns, 1};
  layout.regions.Add({0, 0, 0, begin, extent, stride});
  return layout;
}

RankLayout Halves() {
  RankLayout layout;
  layout.parameters = {{"left", DType::kBF16, {kRows, kColumns / 2}},
                       {"right", DType::kBF16, {kRows, kColumns / 2}}};
  for (ParameterIndex half = 0; half < 2; ++half) {
    const std::int64_t begin[] = {0, half * kColumns / 2};
    const std::int64_t extent[] = {kRows, kColumns / 2};
    const std::int64_t stride[] = {kColumns / 2, 1};
    layout.regions.Add({0, half, 0, begin, extent, stride});
  }
  return layout;
}

// One GPU that is both sides: the left and the right half of a matrix to parameters of their own,
// in four rounds of local moves.
Plan OneRankPlan() {
  Plan plan;
  plan.job_digest = "00112233445566778899aabbccddeeff";
  plan.job.tensors = {{"w", DType::kBF16, {kRows, kColumns}}};
  plan.job.layouts = {Whole(), Halves()};
  plan.job.ranks = {{0, 0, 0, 0, 0, 0, 1}};
  plan.demand.rank_sets = {{0}};
  plan.demand.classes = {{0, 0, kBytes, 0, 2}};
  plan.programs.resize(2);
  plan.programs[0].layout = 0;
  plan.programs[1].layout = 1;
  for (ParameterIndex half = 0; half < 2; ++half) {
    const std::int64_t begin[] = {0, half * kColumns / 2};
    const std::int64_t extent[] = {kRows, kColumns / 2};
    plan.demand.fragments.Add(0, kBytes / 2, begin, extent);
    const CopyDim rows[] = {{kRows, 2 * kColumns}};
    plan.programs[0].Add(0, half * kColumns, kColumns, rows);
    plan.programs[1].Add(half, 0, kBytes / 2, {});
  }
  const std::uint32_t quarter = std::uint32_t{1} << 30;
  plan.profiles = {{{quarter, quarter, quarter, quarter}}};
  plan.columns = {{0, 0, 0, kBytes}};
  plan.schedules.resize(1);
  plan.schedules[0].local_moves = {{0, 0}};
  plan.round_count = 4;
  return plan;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

TEST(DeviceReplay, OneRankMovesItsOwn) {
  constexpr int kRefits = 100;
  GpuTeam team(OneRankPlan());
  team.PrepareAll();
  ASSERT_FALSE(HasFailure());
  std::vector<double> launch_seconds;
  std::vector<double> seconds;
  for (std::uint64_t refit = 1; refit <= kRefits; ++refit) {
    team.Fill(refit);
    const auto start = std::chrono::steady_clock::now();
    const Result<void> started = team.engine(0).Replay(refit);
    const auto launched = std::chrono::steady_clock::now();
    ASSERT_TRUE(started) << ToString(started.error());
    const Result<void> ended = team.engine(0).WaitFor(kDeadline);
    const auto installed = std::chrono::steady_clock::now();
    ASSERT_TRUE(ended) << ToString(ended.error());
    launch_seconds.push_back(std::chrono::duration<double>(launched - start).count());
    seconds.push_back(std::chrono::duration<double>(installed - start).count());
    team.Check(refit);
    ASSERT_FALSE(HasFailure()) << "refit " << refit;
  }
  char text[160];
  std::snprintf(text, sizeof(text),
                "%d refits of %.1f MB, launch on the host %.1f us, to installed %.1f us, medians",
                kRefits, static_cast<double>(kBytes) / 1e6, 1e6 * Median(launch_seconds),
                1e6 * Median(seconds));
  RecordProperty("figures", text);
}

TEST(DeviceReplay, FiveRanksOnOneGpu) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  if (version < 23000) GTEST_SKIP() << "needs NCCL 2.30 or newer";
  GpuTeam team(SmallPlan());
  team.PrepareAll();
  ASSERT_FALSE(HasFailure());
  for (std::uint64_t refit = 1; refit <= 10; ++refit) team.Refit(refit, kDeadline);
  RecordProperty("figures", "10 refits of the small plan of the tests");
}

// A row for each test; what failed goes to standard error.
class RowPrinter : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (part.failed()) std::fprintf(stderr, "%s\n", part.summary());
    if (part.skipped()) figures_ = part.summary();
  }
  void OnTestStart(const ::testing::TestInfo&) override { figures_.clear(); }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const ::testing::TestResult& result = *test.result();
    for (int i = 0; i < result.test_property_count(); ++i) {
      figures_ = result.GetTestProperty(i).value();
    }
    const char* verdict = result.Failed() ? "WRONG" : result.Skipped() ? "skipped" : "right";
    figures_ =
        figures_.substr(figures_.rfind('\n') == std::string::npos ? 0 : figures_.rfind('\n') + 1);
    std::printf("%-34s  %-8s  %s\n", (std::string("engine: ") + test.name()).c_str(), verdict,
                figures_.c_str());
    std::fflush(stdout);
  }

  std::string figures_;
};

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new reshard::RowPrinter);
  return RUN_ALL_TESTS() == 0 ? 0 : 4;
}
