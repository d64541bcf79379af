#include "compiler/planning/linear_program.h"

#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <utility>

namespace reshard {
namespace {

double BoundOf(double value) {
  return value == kUnbounded ? COIN_DBL_MAX : value == -kUnbounded ? -COIN_DBL_MAX : value;
}

LinearProgram::Solution SolutionOf(const ClpSimplex& model) {
  LinearProgram::Solution solution;
  solution.value = model.objectiveValue();
  solution.variables.assign(model.primalColumnSolution(),
                            model.primalColumnSolution() + model.numberColumns());
  solution.row_duals.assign(model.dualRowSolution(), model.dualRowSolution() + model.numberRows());
  return solution;
}

}  // namespace

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
    std::vector<double> low;
    std::vector<double> high;
    for (const double value : low_) low.push_back(BoundOf(value));
    for (const double value : high_) high.push_back(BoundOf(value));
    model.resize(static_cast<int>(low_.size()), static_cast<int>(cost_.size()));
    CoinPackedMatrix sized = matrix;
    sized.setDimensions(static_cast<int>(low_.size()), static_cast<int>(cost_.size()));
    model.loadProblem(sized, nullptr, nullptr, cost_.data(), low.data(), high.data());
    model.dual();
    if (model.status() != 0) return std::nullopt;
    return SolutionOf(model);
  } catch (const CoinError&) {
    return std::nullopt;
  }
}

class ColumnProgram::Model {
 public:
  ClpSimplex simplex;
};

ColumnProgram::ColumnProgram(const std::vector<std::pair<double, double>>& rows)
    : model_(std::make_unique<Model>()) {
  model_->simplex.setLogLevel(0);
  model_->simplex.resize(static_cast<int>(rows.size()), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    model_->simplex.setRowBounds(static_cast<int>(i), BoundOf(rows[i].first),
                                 BoundOf(rows[i].second));
  }
}

ColumnProgram::~ColumnProgram() = default;

std::int32_t ColumnProgram::AddColumn(double cost,
                                      const std::vector<std::pair<std::int32_t, double>>& terms) {
  std::vector<int> rows;
  std::vector<double> coefficients;
  for (const auto& [row, coefficient] : terms) {
    rows.push_back(row);
    coefficients.push_back(coefficient);
  }
  model_->simplex.addColumn(static_cast<int>(rows.size()), rows.data(), coefficients.data(), 0,
                            COIN_DBL_MAX, cost);
  return model_->simplex.numberColumns() - 1;
}

void ColumnProgram::Release(std::int32_t row, std::int32_t variable, double high) {
  model_->simplex.modifyCoefficient(row, variable, 0);
  model_->simplex.setRowUpper(row, high);
}

std::optional<LinearProgram::Solution> ColumnProgram::Solve() {
  try {
    model_->simplex.primal(1);  // columns were added: the last basis is feasible still
    if (model_->simplex.status() != 0) return std::nullopt;
    return SolutionOf(model_->simplex);
  } catch (const CoinError&) {
    return std::nullopt;
  }
}

}  // namespace reshard
