// Linear parameters: what every framework makes of matrices - rows of several joined, columns cut,
// experts stacked - for weights, biases and block scales by one description.
//
// A cut is given once, in rows and columns of the weight. A bias follows the rows. A block scale
// follows both, in block units, and only where the cut lies on block boundaries: elsewhere two
// ranks would share a block, and the cut is refused by the tensor's name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/layout/family_tensors.h"
#include "compiler/layout/rank_layout_builder.h"
#include "foundation/error.h"

namespace reshard {

// Rows [begin, end) of the weight of one role.
struct RowRange {
  RoleTensors tensors;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Rows joined in order, then columns [column_begin, column_end) of all; a weight of one dim has no
// columns, and one of more than two (a convolution's) is taken whole behind its rows. `padded_rows`
// behind: rows nobody declares.
struct LinearCut {
  std::vector<RowRange> rows{};
  std::int64_t column_begin = 0;
  std::int64_t column_end = kAllColumns;
  std::int64_t padded_rows = 0;

  static constexpr std::int64_t kAllColumns = -1;
};

// How a framework names the parameters of one linear, and what it rounds scales' columns up to.
struct LinearNames {
  std::string weight{};
  std::string bias{};  // "" if the framework keeps none: a bias is then an error
  std::string scale{};
  std::int64_t scale_columns_multiple = 1;
};

// The rows of a matrix, counted in the weight.
std::int64_t RowCount(const FamilyTensors& model, const RoleTensors& tensors);
std::int64_t ColumnCount(const FamilyTensors& model, const RoleTensors& tensors);
// All rows of one matrix.
RowRange AllRows(const FamilyTensors& model, const RoleTensors& tensors);
// Rows [begin, end) of what `rows` join.
std::vector<RowRange> SliceRows(std::span<const RowRange> rows, std::int64_t begin,
                                std::int64_t end);
std::int64_t RowCount(std::span<const RowRange> rows);

// [begin, end) of share `index` of `count` equal ones of `size`; an error if count does not divide,
// naming `what`.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Result<Share> EqualShare(std::int64_t size, std::int64_t count, std::int64_t index,
                         const std::string& what);

// Whether `roles` of one layer (or expert) are there: all those that the family has, or none. Some
// only is an error that names what is missing from the parameter they form. Returns those there
// are, in the order given; empty where none is.
Result<std::vector<RoleTensors>> Together(const FamilyTensors& model, const FamilyLayer& layer,
                                          std::span<const Role> roles,
                                          const std::string& parameter);
Result<std::vector<RoleTensors>> Together(const FamilyTensors& model, const FamilyLayer& layer,
                                          std::int64_t expert, std::span<const Role> roles,
                                          const std::string& parameter);

class LinearBuilder {
 public:
  LinearBuilder(const FamilyTensors& model, RankLayoutBuilder& builder)
      : model_(&model), builder_(&builder) {}

  // The parameters of one cut: weight, and bias and scale where its tensors have them.
  Result<void> Add(const LinearNames& names, const LinearCut& cut);
  // The same with a new dim 0, one entry per cut; all must have equal shapes.
  Result<void> AddStack(const LinearNames& names, std::span<const LinearCut> cuts);

 private:
  // Rows and columns of one tensor, and the row of the parameter they begin at. Bias boxes have one
  // column; of a weight of more dims than two the columns are those of all dims behind the first.
  struct Box {
    TensorIndex tensor = 0;
    std::int64_t row = 0;
    std::int64_t rows = 0;
    std::int64_t column = 0;
    std::int64_t columns = 0;
    std::int64_t at = 0;
  };
  // One entry of a parameter: its boxes, and the shape they fill, padding included.
  struct Entry {
    std::vector<Box> boxes;
    std::vector<std::int64_t> shape;
  };

  Result<void> CheckJoin(const LinearCut& cut, const std::string& name) const;
  Result<bool> Holds(Kind kind, std::span<const LinearCut> cuts, const std::string& name) const;
  Result<Entry> EntryOf(Kind kind, const LinearCut& cut, std::int64_t scale_columns_multiple) const;
  Result<Entry> ScaleEntryOf(const LinearCut& cut, std::int64_t scale_columns_multiple) const;
  // One parameter of `kind` from all cuts; with a dim 0 for them if `stacked`.
  Result<void> AddKind(Kind kind, const std::string& name, const LinearNames& names,
                       std::span<const LinearCut> cuts, bool stacked);
  Result<void> AddAll(const LinearNames& names, std::span<const LinearCut> cuts, bool stacked);

  const FamilyTensors* model_;
  RankLayoutBuilder* builder_;
};

}  // namespace reshard
