// Rows of dim 0, of which cases write out what a rank must hold.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/end_to_end/naive_array.h"

namespace reshard {

// Row `row` of dim 0 of a tensor; of tensor -1 a row of padding, of kNaiveZero a row of zeros.
struct Row {
  std::int32_t tensor = -1;
  std::int64_t row = 0;
};
inline constexpr Row kPadRow{-1, 0};
inline constexpr Row kZeroRow{kNaiveZero, 0};

std::vector<Row> RowsOf(std::int32_t tensor, std::int64_t begin, std::int64_t end);
void Append(std::vector<Row>& rows, const std::vector<Row>& more);
std::vector<Row> Slice(const std::vector<Row>& rows, std::int64_t begin, std::int64_t end);
// torch.chunk: piece `index` of `count`.
std::vector<Row> Chunk(const std::vector<Row>& rows, std::int64_t count, std::int64_t index);

// [rows, width], each row as long as a row of its tensor.
NaiveArray ArrayOf(const std::vector<Row>& rows, std::int64_t width);

}  // namespace reshard
