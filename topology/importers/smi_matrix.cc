#include "topology/importers/smi_matrix.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "topology/importers/nvlink_islands.h"
#include "topology/importers/quotation.h"

namespace reshard {
namespace {

struct Token {
  std::string text;
  int line = 0;  // from 1
};

// Underlining of the header: ESC [ 4 m, of which a copy may have lost the ESC.
std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bracket = text[i] == '\x1b' ? i + 1 : i;
    if (bracket < text.size() && text[bracket] == '[') {
      std::size_t end = bracket + 1;
      while (end < text.size() &&
             (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == ';')) {
        ++end;
      }
      if (end < text.size() && (text[end] == 'm' || text[end] == 'K')) {
        i = end + 1;
        continue;
      }
    }
    plain += text[i++];
  }
  return plain;
}

std::vector<Token> Tokens(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  std::string open;
  const auto close = [&] {
    if (!open.empty()) tokens.push_back({std::move(open), line});
    open.clear();
  };
  for (const char character : WithoutEscapes(text)) {
    if (std::isspace(static_cast<unsigned char>(character)) == 0) {
      open += character;
      continue;
    }
    close();
    if (character == '\n') ++line;
  }
  close();
  return tokens;
}

bool IsNumbered(std::string_view token, std::string_view prefix) {
  if (!token.starts_with(prefix) || token.size() == prefix.size()) return false;
  token.remove_prefix(prefix.size());
  return token.size() <= 5 && std::all_of(token.begin(), token.end(), [](unsigned char digit) {
           return std::isdigit(digit) != 0;
         });
}

bool IsGpu(std::string_view token) { return IsNumbered(token, "GPU"); }

// NVLinks of a cell "NV18"; none for other cells.
std::optional<std::int64_t> NvlinksOf(std::string_view cell) {
  if (!IsNumbered(cell, "NV")) return std::nullopt;
  return WholeInteger(cell.substr(2));
}

std::optional<NicDistance> DistanceOf(std::string_view cell) {
  static constexpr std::array<std::pair<std::string_view, NicDistance>, 6> kWords = {{
      {"PIX", NicDistance::kOneBridge},
      {"PXB", NicDistance::kBridges},
      {"PSB", NicDistance::kBridges},  // older drivers
      {"PHB", NicDistance::kHostBridge},
      {"NODE", NicDistance::kHostBridge},
      {"SYS", NicDistance::kSystem},
  }};
  for (const auto& [word, distance] : kWords) {
    if (cell == word) return distance;
  }
  if (cell == "SOC") return NicDistance::kSystem;  // SYS of older drivers
  return std::nullopt;
}

bool IsCell(std::string_view token) {
  return token == "X" || DistanceOf(token) || NvlinksOf(token);
}

// The header begins with the first GPU, and what follows is no cell of a row.
std::optional<std::size_t> FindHeader(const std::vector<Token>& tokens) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool begins_line = i == 0 || tokens[i - 1].line < tokens[i].line;
    if (begins_line && IsGpu(tokens[i].text) && !IsCell(tokens[i + 1].text) &&
        (IsGpu(tokens[i + 1].text) || tokens[i + 1].text == "CPU" ||
         IsNumbered(tokens[i + 1].text, "NIC") ||
         tokens[i + 1].text.find('_') != std::string::npos)) {
      return i;
    }
  }
  return std::nullopt;
}

struct Matrix {
  std::vector<std::string> labels;  // GPUs first
  std::size_t gpu_count = 0;
  std::vector<std::vector<std::string>> cells;   // [row][column]
  std::vector<bool> coherent;                    // of a GPU: it is a NUMA node of its own
  std::map<std::string, std::string> nic_names;  // the NIC legend
};

class MatrixReader {
 public:
  MatrixReader(std::vector<Token> tokens, std::string name)
      : tokens_(std::move(tokens)), name_(std::move(name)) {}

  Result<Matrix> Read() {
    const std::optional<std::size_t> header = FindHeader(tokens_);
    if (!header) return InputError(name_, "holds no matrix of nvidia-smi topo -m");
    next_ = *header;
    if (Result<void> read = ReadHeader(); !read) return tl::unexpected(read.error());
    for (std::size_t row = 0; row < matrix_.labels.size(); ++row) {
      if (Result<void> read = ReadRow(row); !read) return tl::unexpected(read.error());
    }
    if (Result<void> same = CheckSymmetry(); !same) return tl::unexpected(same.error());
    ReadLegend();
    return std::move(matrix_);
  }

 private:
  tl::unexpected<Error> Fail(std::string reason, std::string remedy = "") const {
    const int line = tokens_[std::min(next_, tokens_.size() - 1)].line;
    return InputError(name_ + ": line " + std::to_string(line), std::move(reason),
                      std::move(remedy));
  }

  // Labels up to "CPU Affinity", or to the first row where the header ends without it; the first
  // label comes again only there.
  Result<void> ReadHeader() {
    const std::string first = tokens_[next_].text;
    while (next_ < tokens_.size()) {
      const std::string& text = tokens_[next_].text;
      if (text == "CPU" || text == "NUMA" || (text == first && !matrix_.labels.empty())) break;
      if (IsGpu(text) && matrix_.gpu_count < matrix_.labels.size()) {
        return Fail(Quoted(text) + " stands behind a NIC in the header");
      }
      if (IsGpu(text)) ++matrix_.gpu_count;
      if (std::find(matrix_.labels.begin(), matrix_.labels.end(), text) != matrix_.labels.end()) {
        return Fail(Quoted(text) + " stands twice in the header");
      }
      matrix_.labels.push_back(text);
      if (std::cmp_greater(matrix_.labels.size(), 2 * kMaxDevicesPerNode)) {
        return Fail("the header has more than " + std::to_string(2 * kMaxDevicesPerNode) +
                    " columns");
      }
      ++next_;
    }
    return {};
  }

  Result<void> ReadRow(std::size_t row) {
    const std::string& label = matrix_.labels[row];
    // Between a row's cells and the next label: affinities.
    const std::size_t extra_begin = next_;
    while (next_ < tokens_.size() && !BeginsRow(label)) ++next_;
    if (row > 0) NoteAffinity(row - 1, extra_begin);
    if (next_ == tokens_.size()) {
      return Fail("the row of " + Quoted(label) + " is missing", "paste the whole matrix");
    }
    ++next_;
    std::vector<std::string>& cells = matrix_.cells.emplace_back();
    while (cells.size() < matrix_.labels.size()) {
      if (next_ == tokens_.size() || !IsCell(tokens_[next_].text)) {
        return Fail("the row of " + Quoted(label) + " has " + std::to_string(cells.size()) +
                        " cells for " + std::to_string(matrix_.labels.size()) + " columns" +
                        (next_ < tokens_.size() ? ", then " + Quoted(tokens_[next_].text) : ""),
                    "paste the whole matrix");
      }
      cells.push_back(tokens_[next_++].text);
    }
    if (cells[row] != "X")
      return Fail("the row of " + Quoted(label) + " has no X in its own column");
    return {};
  }

  bool BeginsRow(const std::string& label) const {
    return tokens_[next_].text == label && next_ + 1 < tokens_.size() &&
           IsCell(tokens_[next_ + 1].text);
  }

  // CPU affinity, NUMA affinity and, behind them, the GPU's own NUMA node where it is one.
  void NoteAffinity(std::size_t row, std::size_t begin) {
    if (row >= matrix_.gpu_count) return;
    matrix_.coherent.push_back(next_ - begin >= 3 &&
                               WholeInteger(tokens_[next_ - 1].text).has_value());
  }

  Result<void> CheckSymmetry() const {
    for (std::size_t a = 0; a < matrix_.labels.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (matrix_.cells[a][b] == matrix_.cells[b][a]) continue;
        return InputError(name_,
                          matrix_.labels[b] + " to " + matrix_.labels[a] + " is " +
                              matrix_.cells[b][a] + ", but " + matrix_.cells[a][b] + " back",
                          "paste the whole matrix, unaltered");
      }
    }
    return {};
  }

  void ReadLegend() {
    for (; next_ + 1 < tokens_.size(); ++next_) {
      std::string_view label = tokens_[next_].text;
      if (!label.ends_with(':')) continue;
      label.remove_suffix(1);
      if (IsNumbered(label, "NIC")) {
        matrix_.nic_names.try_emplace(std::string(label), tokens_[next_ + 1].text);
      }
    }
  }

  std::vector<Token> tokens_;
  std::string name_;
  std::size_t next_ = 0;
  Matrix matrix_;
};

// A GPU has at most 18 links to a cell's peers together (36 on VR200, whose GPUs all hang on
// switches). Cells that sum to more show the same links once for every peer behind a switch.
constexpr std::int64_t kMostDirectLinks = 18;

void DescribeGpus(const Matrix& matrix, NodeDescription& node) {
  const auto gpu_count = static_cast<std::int32_t>(matrix.gpu_count);
  std::vector<std::pair<std::int32_t, std::int32_t>> links;
  for (std::int32_t gpu = 0; gpu < gpu_count; ++gpu) {
    std::int64_t sum = 0;
    std::int64_t most = 0;
    for (std::int32_t peer = 0; peer < gpu_count; ++peer) {
      const std::int64_t count = NvlinksOf(matrix.cells[gpu][peer]).value_or(0);
      sum += count;
      most = std::max(most, count);
      if (count > 0) links.emplace_back(gpu, peer);
    }
    DescribedGpu described;
    described.name = "GPU " + std::to_string(gpu);
    if (gpu_count > 1) described.nvlinks = sum <= kMostDirectLinks ? sum : most;
    node.gpus.push_back(std::move(described));
  }
  const std::vector<std::int32_t> islands = NvlinkIslands(gpu_count, gpu_count, links);
  for (std::int32_t gpu = 0; gpu < gpu_count; ++gpu) node.gpus[gpu].nvlink_island = islands[gpu];
}

}  // namespace

bool HoldsSmiMatrix(std::string_view text) { return FindHeader(Tokens(text)).has_value(); }

Result<NodeDescription> ReadSmiMatrix(std::string_view text, const std::string& name) {
  const Result<Matrix> matrix = MatrixReader(Tokens(text), name).Read();
  if (!matrix) return tl::unexpected(matrix.error());
  NodeDescription node;
  node.source = name;
  node.coherent =
      !matrix->coherent.empty() &&
      std::find(matrix->coherent.begin(), matrix->coherent.end(), false) == matrix->coherent.end();
  DescribeGpus(*matrix, node);
  for (std::size_t column = matrix->gpu_count; column < matrix->labels.size(); ++column) {
    const std::string& label = matrix->labels[column];
    const auto name_of = matrix->nic_names.find(label);
    node.nics.push_back({name_of == matrix->nic_names.end() ? label : name_of->second,
                         std::to_string(column - matrix->gpu_count), std::nullopt});
  }
  for (std::size_t gpu = 0; gpu < matrix->gpu_count; ++gpu) {
    std::vector<NicDistance>& distances = node.distances.emplace_back();
    for (std::size_t column = matrix->gpu_count; column < matrix->labels.size(); ++column) {
      const std::optional<NicDistance> distance = DistanceOf(matrix->cells[gpu][column]);
      if (!distance) {
        return InputError(name, matrix->labels[gpu] + " to " + matrix->labels[column] + ": " +
                                    matrix->cells[gpu][column] + " is no path to a NIC");
      }
      distances.push_back(*distance);
    }
  }
  return node;
}

}  // namespace reshard
