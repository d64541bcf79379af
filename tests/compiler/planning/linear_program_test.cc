#include "compiler/planning/linear_program.h"

#include <gtest/gtest.h>

namespace reshard {
namespace {

// min x + 2 y with x + y >= 3 and x <= 1: x is cheaper and goes as far as it may, x = 1, y = 2,
// value 5. One unit more of the first row costs a y, 2; one more of the second turns a y into an x,
// -1.
TEST(LinearProgram, FindsTheOptimumAndItsPrices) {
  LinearProgram program;
  const std::int32_t x = program.AddVariable(1);
  const std::int32_t y = program.AddVariable(2);
  const std::int32_t sum = program.AddRow(3, kUnbounded);
  program.AddTerm(sum, x, 1);
  program.AddTerm(sum, y, 1);
  const std::int32_t most = program.AddRow(-kUnbounded, 1);
  program.AddTerm(most, x, 1);
  const auto solution = program.Solve();
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->value, 5, 1e-9);
  EXPECT_NEAR(solution->variables[static_cast<std::size_t>(x)], 1, 1e-9);
  EXPECT_NEAR(solution->variables[static_cast<std::size_t>(y)], 2, 1e-9);
  EXPECT_NEAR(solution->row_duals[static_cast<std::size_t>(sum)], 2, 1e-9);
  EXPECT_NEAR(solution->row_duals[static_cast<std::size_t>(most)], -1, 1e-9);
}

TEST(LinearProgram, NoneWhereNothingFits) {
  LinearProgram program;
  const std::int32_t x = program.AddVariable(1);
  program.AddTerm(program.AddRow(2, kUnbounded), x, 1);
  program.AddTerm(program.AddRow(-kUnbounded, 1), x, 1);
  EXPECT_FALSE(program.Solve());
}

TEST(LinearProgram, NoneWithoutABound) {
  LinearProgram program;
  const std::int32_t x = program.AddVariable(-1);
  program.AddTerm(program.AddRow(0, kUnbounded), x, 1);
  EXPECT_FALSE(program.Solve());
}

TEST(LinearProgram, VariablesWithoutTermsStayAtZero) {
  LinearProgram program;
  program.AddVariable(3);
  const std::int32_t x = program.AddVariable(1);
  program.AddTerm(program.AddRow(4, 4), x, 2);
  const auto solution = program.Solve();
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->variables[0], 0);
  EXPECT_NEAR(solution->value, 2, 1e-9);
}

// The first test's program, a column at a time: y alone makes 6, then x takes its place as far as
// it may. Then x may be 2, and nothing else counts in its row.
TEST(ColumnProgram, GoesOnFromWhereItWas) {
  ColumnProgram program({{3, kUnbounded}, {-kUnbounded, 1}});
  const std::int32_t y = program.AddColumn(2, {{0, 1}});
  ASSERT_NEAR(program.Solve()->value, 6, 1e-9);
  const std::int32_t x = program.AddColumn(1, {{0, 1}, {1, 1}});
  auto solution = program.Solve();
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->value, 5, 1e-9);
  EXPECT_NEAR(solution->variables[static_cast<std::size_t>(x)], 1, 1e-9);
  EXPECT_NEAR(solution->row_duals[1], -1, 1e-9);
  program.Release(1, y, 2);
  solution = program.Solve();
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->value, 4, 1e-9);
  EXPECT_NEAR(solution->variables[static_cast<std::size_t>(y)], 1, 1e-9);
}

}  // namespace
}  // namespace reshard
