// A table for the terminal: columns as wide as their widest cell, units in the header.
#pragma once

#include <string>
#include <vector>

namespace reshard {

enum class Alignment { kLeft, kRight };

struct TableColumn {
  std::string header;
  Alignment alignment = Alignment::kLeft;
};

class TextTable {
 public:
  // A table whose headers are all empty prints none.
  explicit TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty; there are never more cells than columns.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  const std::vector<TableColumn>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // One line a row, two blanks between columns, none at the end of a line.
  std::string Text() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace reshard
