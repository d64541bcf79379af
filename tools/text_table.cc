#include "tools/text_table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace reshard {
namespace {

// Columns a UTF-8 text takes: bytes that do not continue a character.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void AppendCell(std::string_view cell, std::size_t width, Alignment alignment, std::string& line) {
  const std::string padding(width - Width(cell), ' ');
  if (alignment == Alignment::kRight) line += padding;
  line += cell;
  if (alignment == Alignment::kLeft) line += padding;
}

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::Text() const {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> headers;
  for (const TableColumn& column : columns_) headers.push_back(column.header);
  const bool has_header = std::any_of(headers.begin(), headers.end(),
                                      [](const std::string& header) { return !header.empty(); });
  if (has_header) lines.push_back(std::move(headers));
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      widths[c] = std::max(widths[c], Width(line[c]));
  }
  std::string text;
  for (const std::vector<std::string>& cells : lines) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      AppendCell(cells[c], widths[c], columns_[c].alignment, line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace reshard
