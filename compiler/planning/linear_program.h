// Linear programs, solved by CLP. The only file that knows CLP.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace reshard {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Minimise cost * x subject to low <= A x <= high per row, x >= 0.
class LinearProgram {
 public:
  // Returns the variable's index.
  std::int32_t AddVariable(double cost);
  // Returns the row's index. Terms of one variable must not repeat in a row.
  std::int32_t AddRow(double low, double high);
  void AddTerm(std::int32_t row, std::int32_t variable, double coefficient);

  struct Solution {
    double value = 0;
    std::vector<double> variables;
    std::vector<double> row_duals;  // change of value per unit of the row's binding side
  };
  // None if it is infeasible or unbounded, or the solver gave up. Deterministic.
  std::optional<Solution> Solve() const;

 private:
  std::vector<double> cost_;
  std::vector<double> low_, high_;
  std::vector<std::int32_t> term_row_, term_variable_;
  std::vector<double> term_coefficient_;
};

// The same, of rows that are all there and columns that come one by one: what is solved again
// starts from where the last solution was.
class ColumnProgram {
 public:
  // One pair a row: low and high.
  explicit ColumnProgram(const std::vector<std::pair<double, double>>& rows);
  ~ColumnProgram();
  ColumnProgram(ColumnProgram&&) = delete;

  // Terms: rows, each once, and their coefficients. Returns the variable's index.
  std::int32_t AddColumn(double cost, const std::vector<std::pair<std::int32_t, double>>& terms);
  std::optional<LinearProgram::Solution> Solve();
  // From now on the row's terms are at most `high`, and the variable is none of them.
  void Release(std::int32_t row, std::int32_t variable, double high);

 private:
  class Model;
  std::unique_ptr<Model> model_;
};

}  // namespace reshard
