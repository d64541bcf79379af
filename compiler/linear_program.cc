#include "compiler/linear_program.h"

#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>

namespace reshard {

std::int32_t LinearProgram::AddVariable(double cost) {
  cost_.push_back(cost);
  return static_cast<std::int32_t>(cost_.size()) - 1;
}

std::int32_t LinearProgram::AddRow(double low, double high) {
  low_.push_back(low);
  high_.push_back(high);
  return static_cast<std::int32_t>(low_.size()) - 1;
}

void LinearProgram::AddTerm(std::int32_t row, std::int32_t variable, double coefficient) {
  term_row_.push_back(row);
  term_variable_.push_back(variable);
  term_coefficient_.push_back(coefficient);
}

std::optional<LinearProgram::Solution> LinearProgram::Solve() const {
  try {
    const CoinPackedMatrix matrix(true, term_row_.data(), term_variable_.data(),
                                  term_coefficient_.data(),
                                  static_cast<CoinBigIndex>(term_row_.size()));
    ClpSimplex model;
    model.setLogLevel(0);
    const auto bound = [](double value) {
      return value == kUnbounded ? COIN_DBL_MAX : value == -kUnbounded ? -COIN_DBL_MAX : value;
    };
    std::vector<double> low;
    std::vector<double> high;
    for (const double value : low_) low.push_back(bound(value));
    for (const double value : high_) high.push_back(bound(value));
    model.resize(static_cast<int>(low_.size()), static_cast<int>(cost_.size()));
    CoinPackedMatrix sized = matrix;
    sized.setDimensions(static_cast<int>(low_.size()), static_cast<int>(cost_.size()));
    model.loadProblem(sized, nullptr, nullptr, cost_.data(), low.data(), high.data());
    model.dual();
    if (model.status() != 0) return std::nullopt;
    Solution solution;
    solution.value = model.objectiveValue();
    solution.variables.assign(model.primalColumnSolution(),
                              model.primalColumnSolution() + cost_.size());
    solution.row_duals.assign(model.dualRowSolution(), model.dualRowSolution() + low_.size());
    return solution;
  } catch (const CoinError&) {
    return std::nullopt;
  }
}

}  // namespace reshard
