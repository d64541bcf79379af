#include "compiler/layout/family_linear.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::size_t kMatrixDims = 2;

const Tensor& WeightOf(const FamilyTensors& model, const RoleTensors& tensors) {
  return model.tensor(tensors[Kind::kWeight]);
}

template <typename TensorsOf>
Result<std::vector<RoleTensors>> TogetherOf(const FamilyTensors& model, const TensorsOf& tensors_of,
                                            const std::string& whose, std::span<const Role> roles,
                                            const std::string& parameter) {
  std::vector<RoleTensors> held;
  std::optional<Role> missing;
  for (const Role role : roles) {
    const RoleTensors& tensors = tensors_of(role);
    if (tensors.held()) {
      held.push_back(tensors);
    } else if (!tensors.empty()) {
      return InputError("model",
                        whose + " has a bias of " + std::string(Name(role)) + " but no weight");
    } else if (model.family().HasRole(role)) {
      missing = role;
    }
  }
  if (!held.empty() && missing) {
    return InputError("model",
                      whose + " has " + model.tensor(held.front()[Kind::kWeight]).name +
                          " but no " + std::string(Name(*missing)) + ": " + parameter +
                          " would hold some parts only",
                      "list all parts or none");
  }
  return held;
}

}  // namespace

Result<std::vector<RoleTensors>> Together(const FamilyTensors& model, const FamilyLayer& layer,
                                          std::span<const Role> roles,
                                          const std::string& parameter) {
  const auto tensors_of = [&](Role role) -> const RoleTensors& { return layer[role]; };
  return TogetherOf(model, tensors_of, "layer " + std::to_string(layer.index), roles, parameter);
}

Result<std::vector<RoleTensors>> Together(const FamilyTensors& model, const FamilyLayer& layer,
                                          std::int64_t expert, std::span<const Role> roles,
                                          const std::string& parameter) {
  static const ExpertTensors kNone;
  const auto found = layer.experts.find(expert);
  const ExpertTensors& tensors = found == layer.experts.end() ? kNone : found->second;
  const auto tensors_of = [&](Role role) -> const RoleTensors& { return tensors[role]; };
  return TogetherOf(model, tensors_of,
                    "layer " + std::to_string(layer.index) + ", expert " + std::to_string(expert),
                    roles, parameter);
}

std::int64_t RowCount(const FamilyTensors& model, const RoleTensors& tensors) {
  const std::vector<std::int64_t>& shape = WeightOf(model, tensors).shape;
  return shape.empty() ? 1 : shape[0];
}

std::int64_t ColumnCount(const FamilyTensors& model, const RoleTensors& tensors) {
  const std::vector<std::int64_t>& shape = WeightOf(model, tensors).shape;
  return shape.size() < kMatrixDims ? 1 : shape[1];
}

RowRange AllRows(const FamilyTensors& model, const RoleTensors& tensors) {
  return {tensors, 0, RowCount(model, tensors)};
}

std::int64_t RowCount(std::span<const RowRange> rows) {
  std::int64_t count = 0;
  for (const RowRange& range : rows) count += range.end - range.begin;
  return count;
}

std::vector<RowRange> SliceRows(std::span<const RowRange> rows, std::int64_t begin,
                                std::int64_t end) {
  std::vector<RowRange> slice;
  std::int64_t offset = 0;
  for (const RowRange& range : rows) {
    const std::int64_t size = range.end - range.begin;
    const std::int64_t first = std::max(begin, offset);
    const std::int64_t last = std::min(end, offset + size);
    if (first < last) {
      const std::int64_t shift = range.begin - offset;
      // Rows that go on where the last ones ended are one range, so that block scales see no seam.
      if (!slice.empty() && slice.back().end == first + shift &&
          slice.back().tensors.of_kind == range.tensors.of_kind) {
        slice.back().end = last + shift;
      } else {
        slice.push_back({range.tensors, first + shift, last + shift});
      }
    }
    offset += size;
  }
  return slice;
}

Result<Share> EqualShare(std::int64_t size, std::int64_t count, std::int64_t index,
                         const std::string& what) {
  if (size % count != 0) {
    return InputError(
        "", what + ": " + std::to_string(size) + " is not divisible by " + std::to_string(count),
        "choose a degree that divides it");
  }
  return Share{size / count * index, size / count * (index + 1)};
}

// Rows of several tensors join only if they are equally wide; a bias has one element a row. A
// family of the user's own may say otherwise.
Result<void> LinearBuilder::CheckJoin(const LinearCut& cut, const std::string& name) const {
  if (cut.rows.empty()) return InternalError(name, "a parameter without rows");
  const std::vector<std::int64_t>& first = WeightOf(*model_, cut.rows.front().tensors).shape;
  for (const RowRange& range : cut.rows) {
    const Tensor& weight = WeightOf(*model_, range.tensors);
    if (weight.shape.empty()) return InputError(name, weight.name + " has no rows");
    if (weight.shape.size() > kMatrixDims && cut.column_end != LinearCut::kAllColumns) {
      return InputError(name, weight.name + " has " + std::to_string(weight.shape.size()) +
                                  " dims; only a matrix has columns to cut");
    }
    if (weight.shape.size() != first.size() ||
        !std::equal(first.begin() + 1, first.end(), weight.shape.begin() + 1)) {
      return InputError(name, weight.name + " does not join with " +
                                  WeightOf(*model_, cut.rows.front().tensors).name +
                                  ": their rows differ in length");
    }
    const TensorIndex bias = range.tensors[Kind::kBias];
    if (bias != kNoTensor &&
        model_->tensor(bias).shape != std::vector<std::int64_t>{weight.shape[0]}) {
      return InputError(name, model_->tensor(bias).name +
                                  " does not have one element for each of " +
                                  std::to_string(weight.shape[0]) + " rows of " + weight.name);
    }
  }
  return {};
}

Result<bool> LinearBuilder::Holds(Kind kind, std::span<const LinearCut> cuts,
                                  const std::string& name) const {
  const bool held = cuts.front().rows.front().tensors[kind] != kNoTensor;
  for (const LinearCut& cut : cuts) {
    for (const RowRange& range : cut.rows) {
      if ((range.tensors[kind] != kNoTensor) == held) continue;
      return InputError(name, "of " + WeightOf(*model_, cuts.front().rows.front().tensors).name +
                                  " and " + WeightOf(*model_, range.tensors).name +
                                  " only one has a " + (kind == Kind::kBias ? "bias" : "scale") +
                                  ", but they are one parameter");
    }
  }
  return held;
}

// In block units. Merged parts are placed at ceil(offset / 128) (vLLM's linear layers do so), so
// that only the last may end inside a block, and only where its tensor ends.
Result<LinearBuilder::Entry> LinearBuilder::ScaleEntryOf(
    const LinearCut& cut, std::int64_t scale_columns_multiple) const {
  const ScaleBlock& unit = model_->scale_block();
  Entry entry;
  std::int64_t at = 0;
  std::int64_t columns = 0;
  for (const RowRange& range : cut.rows) {
    const Tensor& weight = WeightOf(*model_, range.tensors);
    const bool last = &range == &cut.rows.back();
    const auto off_boundary = [&](std::int64_t begin, std::int64_t end, std::int64_t size,
                                  std::int64_t block, const char* what) {
      return InputError("",
                        weight.name + ": " + what + " " + std::to_string(begin) + " to " +
                            std::to_string(end) + " of " + std::to_string(size) +
                            " cut its FP8 blocks of " + std::to_string(block),
                        "choose a degree whose shards end on block boundaries");
    };
    const std::int64_t rows = weight.shape[0];
    if (range.begin % unit.rows != 0 ||
        (range.end % unit.rows != 0 && (range.end != rows || !last))) {
      return off_boundary(range.begin, range.end, rows, unit.rows, "rows");
    }
    const std::int64_t width = weight.shape[1];
    const std::int64_t column_end =
        cut.column_end == LinearCut::kAllColumns ? width : cut.column_end;
    if (cut.column_begin % unit.columns != 0 ||
        (column_end % unit.columns != 0 && column_end != width)) {
      return off_boundary(cut.column_begin, column_end, width, unit.columns, "columns");
    }
    const std::int64_t first_row = range.begin / unit.rows;
    const std::int64_t first_column = cut.column_begin / unit.columns;
    const std::int64_t block_rows = CeilDivide(range.end, unit.rows) - first_row;
    columns = CeilDivide(column_end, unit.columns) - first_column;
    entry.boxes.push_back(
        {range.tensors[Kind::kScale], first_row, block_rows, first_column, columns, at});
    at += block_rows;
  }
  entry.shape = {at, CeilDivide(columns, scale_columns_multiple) * scale_columns_multiple};
  return entry;
}

Result<LinearBuilder::Entry> LinearBuilder::EntryOf(Kind kind, const LinearCut& cut,
                                                    std::int64_t scale_columns_multiple) const {
  if (kind == Kind::kScale) return ScaleEntryOf(cut, scale_columns_multiple);
  Entry entry;
  entry.boxes.reserve(cut.rows.size());
  const bool matrix =
      kind == Kind::kWeight && WeightOf(*model_, cut.rows.front().tensors).shape.size() > 1;
  const bool whole = !matrix || cut.column_end == LinearCut::kAllColumns;
  const std::int64_t column = whole ? 0 : cut.column_begin;
  std::int64_t columns = whole ? 1 : cut.column_end - cut.column_begin;
  const std::vector<std::int64_t>& shape = WeightOf(*model_, cut.rows.front().tensors).shape;
  if (matrix && whole) {
    columns = std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies());
  }
  std::int64_t at = 0;
  for (const RowRange& range : cut.rows) {
    const std::int64_t rows = range.end - range.begin;
    entry.boxes.push_back({range.tensors[kind], range.begin, rows, column, columns, at});
    at += rows;
  }
  entry.shape.push_back(at + cut.padded_rows);
  if (matrix && whole) {
    entry.shape.insert(entry.shape.end(), shape.begin() + 1, shape.end());
  } else if (matrix) {
    entry.shape.push_back(columns);
  }
  return entry;
}

Result<void> LinearBuilder::AddKind(Kind kind, const std::string& name, const LinearNames& names,
                                    std::span<const LinearCut> cuts, bool stacked) {
  std::vector<Entry> entries;
  entries.reserve(cuts.size());
  for (const LinearCut& cut : cuts) {
    Result<Entry> entry = EntryOf(kind, cut, names.scale_columns_multiple);
    if (!entry) return tl::unexpected(entry.error());
    if (!entries.empty() && entry->shape != entries.front().shape) {
      return InputError(name, model_->tensor(cut.rows.front().tensors[kind]).name +
                                  " differs in shape from the other experts'");
    }
    entries.push_back(*std::move(entry));
  }
  const DType dtype = model_->tensor(entries.front().boxes.front().tensor).dtype;
  const std::vector<std::int64_t>& shape = entries.front().shape;
  std::vector<std::int64_t> full = shape;
  if (stacked) full.insert(full.begin(), static_cast<std::int64_t>(entries.size()));
  const Result<ParameterIndex> parameter = builder_->AddParameter(Parameter{name, dtype, full});
  if (!parameter) return tl::unexpected(parameter.error());

  const std::int64_t width =
      std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies());
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;
  std::int64_t entry_offset = 0;
  for (const Entry& entry : entries) {
    for (const Box& box : entry.boxes) {
      const Tensor& tensor = model_->tensor(box.tensor);
      if (tensor.dtype != dtype) {
        return InputError(name, "the parameter is " + std::string(Name(dtype)) + ", but tensor " +
                                    tensor.name + " in it is " + std::string(Name(tensor.dtype)));
      }
      if (box.rows == 0 || box.columns == 0) continue;
      const std::size_t dims = tensor.shape.size();
      begin.assign(dims, 0);
      extent.assign(tensor.shape.begin(), tensor.shape.end());
      stride.assign(dims, 1);
      begin[0] = box.row;
      extent[0] = box.rows;
      stride[0] = width;
      if (dims == kMatrixDims) {
        begin[1] = box.column;
        extent[1] = box.columns;
      }
      for (std::size_t dim = dims; dim-- > kMatrixDims;) {
        stride[dim - 1] = stride[dim] * tensor.shape[dim];
      }
      builder_->AddRegion(
          {box.tensor, *parameter, entry_offset + box.at * width, begin, extent, stride});
    }
    entry_offset += shape[0] * width;
  }
  return {};
}

Result<void> LinearBuilder::AddAll(const LinearNames& names, std::span<const LinearCut> cuts,
                                   bool stacked) {
  for (const LinearCut& cut : cuts) {
    if (const Result<void> joined = CheckJoin(cut, names.weight); !joined) return joined;
  }
  for (const auto& [kind, name] :
       {std::pair{Kind::kWeight, &names.weight}, std::pair{Kind::kBias, &names.bias},
        std::pair{Kind::kScale, &names.scale}}) {
    const Result<bool> held = Holds(kind, cuts, *name);
    if (!held) return tl::unexpected(held.error());
    if (!*held) continue;
    if (name->empty()) {
      return InputError("", model_->tensor(cuts.front().rows.front().tensors[kind]).name +
                                ": the framework has no parameter for it");
    }
    const Result<void> added = AddKind(kind, *name, names, cuts, stacked);
    if (!added) return added;
  }
  return {};
}

Result<void> LinearBuilder::Add(const LinearNames& names, const LinearCut& cut) {
  return AddAll(names, std::span(&cut, 1), false);
}

Result<void> LinearBuilder::AddStack(const LinearNames& names, std::span<const LinearCut> cuts) {
  return cuts.empty() ? Result<void>() : AddAll(names, cuts, true);
}

}  // namespace reshard
