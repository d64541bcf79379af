#include "schedules/drawing/class_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/description.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr std::size_t kMaxColumns = 6;
// More arrows cannot be followed: fewer columns are drawn, at least one.
constexpr std::size_t kMaxArrows = 40;
// Told apart by most people (Okabe and Ito).
constexpr std::array<const char*, kMaxColumns> kColumnColors{"#0072b2", "#d55e00", "#009e73",
                                                             "#cc79a7", "#e69f00", "#56b4e9"};

// Ranks that are drawn as one: a single rank, or equal leaves.
struct Bundle {
  std::vector<RankIndex> ranks;
  std::int32_t domain = 0;
};

// An arrow of one column, between bundles.
struct Arrow {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t column = 0;  // among the drawn ones
  bool is_same_domain = false;
  RoundIndex first_round = 0;
  auto Key() const { return std::tuple(column, first_round, from, to); }
};

class ClassPicture {
 public:
  ClassPicture(const Plan& plan, ClassIndex demand_class)
      : plan_(plan), description_(DescribeClass(plan, demand_class)) {
    std::vector<ColumnDescription>& columns = description_.columns;
    column_count_ = columns.size();
    std::stable_sort(columns.begin(), columns.end(),
                     [](const auto& a, const auto& b) { return a.bytes.size() > b.bytes.size(); });
    if (columns.size() > kMaxColumns) columns.resize(kMaxColumns);
    for (;;) {
      MakeBundles();
      MakeArrows();
      if (arrows_.size() <= kMaxArrows || columns.size() <= 1) break;
      columns.pop_back();
    }
  }

  Result<std::string> Draw(DrawingFormat format) const {
    Graph graph({{"rankdir", "LR"},
                 {"newrank", "true"},
                 {"fontname", "Helvetica"},
                 {"fontsize", "12"},
                 {"labelloc", "t"},
                 {"nodesep", "0.2"},
                 {"ranksep", "1.1"},
                 {"label", Caption()}});
    std::set<std::int32_t> domains;
    for (const Bundle& bundle : bundles_) domains.insert(bundle.domain);
    for (const std::int32_t domain : domains) {
      graph.AddCluster(fmt::format("{}", domain), {{"label", fmt::format("domain {}", domain)},
                                                   {"labeljust", "l"},
                                                   {"style", "rounded,filled"},
                                                   {"fillcolor", "#fafafa"},
                                                   {"color", "#9e9e9e"}});
    }
    for (std::size_t i = 0; i < bundles_.size(); ++i) AddBundle(i, graph);
    AddStart(graph);
    for (const Arrow& arrow : arrows_) {
      graph.AddEdge(NodeName(arrow.from), NodeName(arrow.to),
                    {{"label", RoundLabel(arrow.first_round)},
                     {"fontname", "Helvetica"},
                     {"fontsize", "9"},
                     {"color", kColumnColors[arrow.column]},
                     {"fontcolor", kColumnColors[arrow.column]},
                     {"penwidth", arrow.is_same_domain ? "1" : "3"},
                     {"arrowsize", arrow.is_same_domain ? "0.7" : "0.5"}});
    }
    return graph.Draw(format);
  }

 private:
  // Where a rank stands in every drawn column: from whom and when it receives. Senders and holders
  // stand alone, so their key is their own number.
  using Role = std::tuple<std::int32_t, RankIndex, std::vector<std::pair<RankIndex, RoundIndex>>>;

  // On white, so that no arrow runs through it.
  static std::string RoundLabel(RoundIndex round) {
    return fmt::format(
        "<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"0\"><tr>"
        "<td bgcolor=\"#ffffff\">{}</td></tr></table>>",
        round);
  }

  void MakeBundles() {
    bundles_.clear();
    bundle_of_.clear();
    std::set<RankIndex> alone(description_.holders.begin(), description_.holders.end());
    std::map<RankIndex, std::vector<std::pair<RankIndex, RoundIndex>>> received;
    std::set<RankIndex> drawn;
    for (const ColumnDescription& column : description_.columns) {
      for (const HopDescription& hop : column.hops) {
        alone.insert(hop.from);
        drawn.insert(hop.from);
        drawn.insert(hop.to);
        received[hop.to].emplace_back(hop.from, hop.first_round);
      }
      drawn.insert(column.local_moves.begin(), column.local_moves.end());
    }
    std::map<Role, std::size_t> places;
    for (const RankIndex rank : drawn) {
      const std::int32_t domain = plan_.job.ranks[static_cast<std::size_t>(rank)].domain;
      const Role role =
          alone.contains(rank) ? Role{domain, rank, {}} : Role{domain, -1, received[rank]};
      const auto [place, is_new] = places.try_emplace(role, bundles_.size());
      if (is_new) bundles_.push_back({{}, domain});
      bundles_[place->second].ranks.push_back(rank);
      bundle_of_[rank] = place->second;
    }
  }

  void MakeArrows() {
    arrows_.clear();
    for (std::size_t c = 0; c < description_.columns.size(); ++c) {
      for (const HopDescription& hop : description_.columns[c].hops) {
        arrows_.push_back({bundle_of_.at(hop.from), bundle_of_.at(hop.to), c, hop.is_same_domain,
                           hop.first_round});
      }
    }
    const auto by_key = [](const Arrow& a, const Arrow& b) { return a.Key() < b.Key(); };
    std::sort(arrows_.begin(), arrows_.end(), by_key);
    const auto same = [](const Arrow& a, const Arrow& b) { return a.Key() == b.Key(); };
    arrows_.erase(std::unique(arrows_.begin(), arrows_.end(), same), arrows_.end());
  }

  // A node left of all others that does not show: Graphviz frees memory twice where an arrow with a
  // label runs between nodes of the first row. "newrank" has it keep to its place.
  void AddStart(Graph& graph) const {
    graph.AddNode("start", "", {{"style", "invis"}, {"shape", "point"}, {"width", "0.01"}});
    for (std::size_t i = 0; i < bundles_.size(); ++i) {
      if (!std::binary_search(description_.holders.begin(), description_.holders.end(),
                              bundles_[i].ranks.front())) {
        continue;
      }
      graph.AddEdge("start", NodeName(i), {{"style", "invis"}, {"weight", "0"}});
    }
  }

  static std::string NodeName(std::size_t bundle) { return fmt::format("ranks_{}", bundle); }

  void AddBundle(std::size_t index, Graph& graph) const {
    const Bundle& bundle = bundles_[index];
    const RankIndex first = bundle.ranks.front();
    const auto is_in = [first](const std::vector<RankIndex>& ranks) {
      return std::binary_search(ranks.begin(), ranks.end(), first);
    };
    const bool holds = is_in(description_.holders);
    const bool needs = is_in(description_.needers);
    const char* const color = holds && needs ? "#efe2c4"
                              : holds        ? "#cfe3f5"
                              : needs        ? "#d8efd3"
                                             : "#eeeeee";
    std::string text =
        fmt::format("rank{} {}", bundle.ranks.size() > 1 ? "s" : "", RangesText(bundle.ranks));
    if (holds) text += "\nholder";
    if (needs) text += bundle.ranks.size() > 1 ? "\nneeders" : "\nneeder";
    if (!holds && !needs) text += "\nhelper";
    graph.AddNode(NodeName(index), fmt::format("{}", bundle.domain),
                  {{"label", text},
                   {"shape", "box"},
                   {"style", "rounded,filled"},
                   {"fontname", "Helvetica"},
                   {"fontsize", "10"},
                   {"fillcolor", color},
                   {"color", "#757575"}});
  }

  std::string Caption() const {
    std::string text =
        fmt::format("<b>class {}: {} in {} fragments of {} tensors</b>", description_.demand_class,
                    BytesText(description_.bytes), CountText(description_.fragments),
                    CountText(static_cast<std::int64_t>(description_.tensors.size())));
    text +=
        "<br/>thick arrows over NICs, thin ones over NVLink, each with the round of its first "
        "chunk";
    for (std::size_t c = 0; c < description_.columns.size(); ++c) {
      const ColumnDescription& column = description_.columns[c];
      text += fmt::format("<br/><font color=\"{}\">\u25a0</font> column {}: {} in {} chunk{}",
                          kColumnColors[c], column.column, BytesText(column.bytes.size()),
                          CountText(column.chunks), column.chunks == 1 ? "" : "s");
      if (!column.local_moves.empty()) {
        text += fmt::format(", moved by {} themselves", RangesText(column.local_moves));
      }
    }
    if (column_count_ > description_.columns.size()) {
      text += fmt::format("<br/>{} of {} columns: the largest",
                          CountText(static_cast<std::int64_t>(description_.columns.size())),
                          CountText(static_cast<std::int64_t>(column_count_)));
    }
    return "<" + text + "<br/> >";
  }

  const Plan& plan_;
  ClassDescription description_;
  std::size_t column_count_ = 0;
  std::vector<Bundle> bundles_;
  std::map<RankIndex, std::size_t> bundle_of_;
  std::vector<Arrow> arrows_;
};

}  // namespace

Result<std::string> DrawClassView(const Plan& plan, ClassIndex demand_class, DrawingFormat format) {
  return ClassPicture(plan, demand_class).Draw(format);
}

}  // namespace reshard
