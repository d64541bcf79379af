#include "tests/end_to_end/naive_rows.h"

#include <algorithm>

namespace reshard {

std::vector<Row> RowsOf(std::int32_t tensor, std::int64_t begin, std::int64_t end) {
  std::vector<Row> rows;
  for (std::int64_t row = begin; row < end; ++row) rows.push_back({tensor, row});
  return rows;
}

void Append(std::vector<Row>& rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

NaiveArray ArrayOf(const std::vector<Row>& rows, std::int64_t width) {
  NaiveArray array{{static_cast<std::int64_t>(rows.size()), width}, {}};
  for (const Row& row : rows) {
    for (std::int64_t k = 0; k < width; ++k) {
      array.elements.push_back({row.tensor, row.tensor < 0 ? 0 : row.row * width + k});
    }
  }
  return array;
}

std::vector<Row> Slice(const std::vector<Row>& rows, std::int64_t begin, std::int64_t end) {
  return {rows.begin() + begin, rows.begin() + end};
}

std::vector<Row> Chunk(const std::vector<Row>& rows, std::int64_t count, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(rows.size());
  const std::int64_t step = (size + count - 1) / count;
  return Slice(rows, std::min(size, index * step), std::min(size, (index + 1) * step));
}

}  // namespace reshard
