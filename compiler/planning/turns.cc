#include "compiler/planning/turns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "compiler/planning/water_filling.h"

namespace reshard {
namespace {

// Of the fullest NIC's time; what is left then goes with the last turn of its link.
constexpr double kLeastTurn = 1e-3;
// Ranks that exchange beyond which matchings take too long to find.
constexpr std::size_t kMostRanks = 64;

using Link = std::pair<RankIndex, RankIndex>;

// A perfect matching of a square matrix whose least entry is as large as can be: binary search over
// entries, augmenting paths for each.
class BottleneckMatching {
 public:
  explicit BottleneckMatching(const std::vector<std::vector<double>>& matrix) : matrix_(matrix) {}

  // Column of each row; empty if no perfect matching has positive entries only.
  std::vector<std::size_t> Find(double least) {
    std::vector<double> entries;
    for (const std::vector<double>& row : matrix_) {
      for (const double entry : row) {
        if (entry >= least) entries.push_back(entry);
      }
    }
    std::ranges::sort(entries);
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    std::vector<std::size_t> best;
    std::size_t low = 0;
    std::size_t high = entries.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      std::vector<std::size_t> found = WithEntriesFrom(entries[middle]);
      if (found.empty()) {
        high = middle;
      } else {
        best = std::move(found);
        low = middle + 1;
      }
    }
    return best;
  }

 private:
  std::vector<std::size_t> WithEntriesFrom(double least) {
    least_ = least;
    row_of_.assign(matrix_.size(), matrix_.size());
    for (std::size_t row = 0; row < matrix_.size(); ++row) {
      tried_.assign(matrix_.size(), false);
      if (!Augment(row)) return {};
    }
    std::vector<std::size_t> column_of(matrix_.size());
    for (std::size_t column = 0; column < row_of_.size(); ++column) {
      column_of[row_of_[column]] = column;
    }
    return column_of;
  }

  bool Augment(std::size_t row) {
    for (std::size_t column = 0; column < matrix_.size(); ++column) {
      if (matrix_[row][column] < least_ || tried_[column]) continue;
      tried_[column] = true;
      if (row_of_[column] == matrix_.size() || Augment(row_of_[column])) {
        row_of_[column] = row;
        return true;
      }
    }
    return false;
  }

  const std::vector<std::vector<double>>& matrix_;
  double least_ = 0;
  std::vector<std::size_t> row_of_;  // of each column, or none
  std::vector<bool> tried_;
};

struct Turn {
  double seconds = 0;
  std::vector<Link> links;
};

class TurnTaker {
 public:
  TurnTaker(const Routes& routes, const Deliveries& deliveries, const RankResources& resources)
      : routes_(routes), deliveries_(deliveries), resources_(resources) {}

  std::optional<Turns> Run(std::size_t most) {
    if (!CollectLinks()) return std::nullopt;
    if (!FindTurns(most) || turns_.size() < 2) return std::nullopt;
    std::ranges::stable_sort(turns_, {}, &Turn::seconds);
    Cut();
    return DropEmptyTurns();
  }

 private:
  // The one network hop of a column, if any; false where there are several.
  bool NetworkLink(const RoutedColumn& column, std::optional<Link>& link) const {
    link.reset();
    for (const PathHop& hop : routes_.paths[static_cast<std::size_t>(column.path)].hops) {
      const RankIndex from = hop.parent == kFromSender ? column.exit : hop.from;
      if (resources_.domain[static_cast<std::size_t>(from)] ==
          resources_.domain[static_cast<std::size_t>(hop.to)]) {
        continue;
      }
      if (link) return false;
      link = {from, hop.to};
    }
    return true;
  }

  double Rate(const Link& link) const {
    return kBytesPerGB * std::min(resources_.network_gbps[static_cast<std::size_t>(link.first)],
                                  resources_.network_gbps[static_cast<std::size_t>(link.second)]);
  }

  bool CollectLinks() {
    std::map<RankIndex, std::size_t> senders;
    std::map<RankIndex, std::size_t> receivers;
    std::optional<Link> link;
    for (const RoutedColumn& column : routes_.columns) {
      if (!NetworkLink(column, link)) return false;
      if (!link) continue;
      if (Rate(*link) <= 0) return false;
      bytes_[*link] += column.end - column.begin;
      senders.try_emplace(link->first, senders.size());
      receivers.try_emplace(link->second, receivers.size());
    }
    if (bytes_.empty() || senders.size() + receivers.size() > 2 * kMostRanks) return false;
    // Times of links, bordered such that every row and column sums to the fullest: a row per
    // sender, then one per receiver that may idle.
    const std::size_t rows = senders.size();
    const std::size_t columns = receivers.size();
    matrix_.assign(rows + columns, std::vector<double>(rows + columns, 0));
    std::vector<double> row_sum(rows, 0);
    std::vector<double> column_sum(columns, 0);
    links_.assign(rows, std::vector<Link>(columns));
    for (const auto& [of, bytes] : bytes_) {
      const std::size_t i = senders[of.first];
      const std::size_t j = receivers[of.second];
      const double seconds = static_cast<double>(bytes) / Rate(of);
      links_[i][j] = of;
      matrix_[i][j] = seconds;
      matrix_[rows + j][columns + i] = seconds;
      row_sum[i] += seconds;
      column_sum[j] += seconds;
    }
    fullest_ = std::max(std::ranges::max(row_sum), std::ranges::max(column_sum));
    for (std::size_t i = 0; i < rows; ++i) matrix_[i][columns + i] = fullest_ - row_sum[i];
    for (std::size_t j = 0; j < columns; ++j) matrix_[rows + j][j] = fullest_ - column_sum[j];
    return true;
  }

  bool FindTurns(std::size_t most) {
    double left = fullest_;
    while (left > kLeastTurn * fullest_) {
      if (turns_.size() == most) return false;
      const std::vector<std::size_t> matched =
          BottleneckMatching(matrix_).Find(kLeastTurn * kLeastTurn * fullest_);
      if (matched.empty()) break;
      Turn turn;
      turn.seconds = left;
      for (std::size_t i = 0; i < matched.size(); ++i) {
        turn.seconds = std::min(turn.seconds, matrix_[i][matched[i]]);
      }
      for (std::size_t i = 0; i < matched.size(); ++i) {
        matrix_[i][matched[i]] -= turn.seconds;
        if (i < links_.size() && matched[i] < links_[i].size()) {
          turn.links.push_back(links_[i][matched[i]]);
        }
      }
      left -= turn.seconds;
      turns_.push_back(std::move(turn));
    }
    return true;
  }

  // Columns in their order fill the turns of their link in theirs; the last takes what is left.
  void Cut() {
    std::map<Link, std::vector<std::pair<std::int32_t, std::int64_t>>> room;
    for (std::size_t t = 0; t < turns_.size(); ++t) {
      for (const Link& of : turns_[t].links) {
        room[of].emplace_back(static_cast<std::int32_t>(t),
                              static_cast<std::int64_t>(turns_[t].seconds * Rate(of)));
      }
    }
    result_.routes.paths = routes_.paths;
    result_.phases.of_group.assign(deliveries_.groups.size(), 0);
    result_.phases.bytes.assign(turns_.size(), 0);
    std::map<Link, std::size_t> at;
    std::optional<Link> link;
    const auto last_turn = static_cast<std::int32_t>(turns_.size()) - 1;
    for (RoutedColumn column : routes_.columns) {
      NetworkLink(column, link);
      if (!link || room[*link].empty()) {
        Add(column, column.end, last_turn);
        continue;
      }
      auto& of_link = room[*link];
      std::size_t& next = at[*link];
      while (column.begin < column.end) {
        auto& [turn, bytes] = of_link[next];
        std::int64_t taken = column.end - column.begin;
        if (next + 1 < of_link.size() && bytes < taken) {
          taken = AlignDown(bytes);
        }
        Add(column, column.begin + taken, turn);
        bytes -= taken;
        column.begin += taken;
        if (next + 1 < of_link.size() && bytes < kSplitAlignmentBytes) ++next;
      }
    }
  }

  void Add(RoutedColumn column, std::int64_t end, std::int32_t turn) {
    if (end == column.begin) return;
    column.end = end;
    column.turn = turn;
    result_.phases.bytes[static_cast<std::size_t>(turn)] += column.end - column.begin;
    result_.routes.columns.push_back(column);
  }

  Turns DropEmptyTurns() {
    std::vector<std::int64_t> bytes;
    std::vector<std::int32_t> kept;
    for (const std::int64_t of_turn : result_.phases.bytes) {
      kept.push_back(static_cast<std::int32_t>(bytes.size()));
      if (of_turn > 0) bytes.push_back(of_turn);
    }
    for (RoutedColumn& column : result_.routes.columns) {
      column.turn = kept[static_cast<std::size_t>(column.turn)];
    }
    result_.phases.bytes = std::move(bytes);
    return std::move(result_);
  }

  const Routes& routes_;
  const Deliveries& deliveries_;
  const RankResources& resources_;
  std::map<Link, std::int64_t> bytes_;
  std::vector<std::vector<Link>> links_;  // by row and column of `matrix_`
  std::vector<std::vector<double>> matrix_;
  double fullest_ = 0;
  std::vector<Turn> turns_;
  Turns result_;
};

}  // namespace

std::optional<Turns> TakeTurns(const Routes& routes, const Deliveries& deliveries,
                               const RankResources& resources, std::size_t most) {
  return TurnTaker(routes, deliveries, resources).Run(most);
}

}  // namespace reshard
