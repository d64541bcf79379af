#include "compiler/planning/transfer_links.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard {
namespace {

class LinkMaker {
 public:
  LinkMaker(const JobRecords& job, const Routes& routes, const Phases& phases)
      : job_(job), routes_(routes), phases_(phases) {}

  TransferLinks Run() {
    MakeHops();
    MakeLinks();
    ArrangeReceiveSlots();
    DecidePacking();
    TimeHops();
    return std::move(result_);
  }

 private:
  void MakeHops() {
    column_hops_.push_back(0);
    for (std::size_t c = 0; c < routes_.columns.size(); ++c) {
      const RoutedColumn& column = routes_.columns[c];
      const auto index = static_cast<std::int32_t>(c);
      std::int64_t root = -1;
      if (column.exit != column.holder) {
        root = static_cast<std::int64_t>(result_.hops.size());
        result_.hops.push_back({index, column.holder, column.exit, -1});
      }
      const auto base = static_cast<std::int64_t>(result_.hops.size());
      for (const PathHop& hop : routes_.paths[static_cast<std::size_t>(column.path)].hops) {
        const bool first = hop.parent == kFromSender;
        result_.hops.push_back(
            {index, first ? column.exit : hop.from, hop.to, first ? root : base + hop.parent});
      }
      column_hops_.push_back(static_cast<std::int64_t>(result_.hops.size()));
    }
  }

  std::int32_t PhaseOf(std::int32_t column) const {
    return reshard::PhaseOf(routes_.columns[static_cast<std::size_t>(column)], phases_);
  }

  void MakeLinks() {
    for (const std::int64_t h : HopsInOrder()) {
      Hop& hop = result_.hops[static_cast<std::size_t>(h)];
      const std::int32_t phase = PhaseOf(hop.column);
      if (result_.links.empty() || result_.links.back().from != hop.from ||
          result_.links.back().to != hop.to || result_.links.back().phase != phase) {
        result_.links.push_back({phase, hop.from, hop.to, {}});
      }
      hop.link = static_cast<std::int32_t>(result_.links.size()) - 1;
      result_.links.back().hops.push_back(h);
    }
  }

  // All hops by (from, to, phase), those of a link ascending by column. There are tens of millions
  // of few keys, so each key is sorted by counting, the last one first.
  std::vector<std::int64_t> HopsInOrder() const {
    std::vector<std::int64_t> order(result_.hops.size());
    std::iota(order.begin(), order.end(), 0);
    const auto sort_by = [&order](std::size_t key_count, const auto& key_of) {
      std::vector<std::size_t> next(key_count + 1, 0);
      for (const std::int64_t h : order) ++next[static_cast<std::size_t>(key_of(h)) + 1];
      std::partial_sum(next.begin(), next.end(), next.begin());
      std::vector<std::int64_t> sorted(order.size());
      for (const std::int64_t h : order) sorted[next[static_cast<std::size_t>(key_of(h))]++] = h;
      order = std::move(sorted);
    };
    const auto hop = [this](std::int64_t h) -> const Hop& {
      return result_.hops[static_cast<std::size_t>(h)];
    };
    if (phases_.bytes.size() > 1) {
      sort_by(phases_.bytes.size(), [&](std::int64_t h) { return PhaseOf(hop(h).column); });
    }
    sort_by(job_.ranks.size(), [&](std::int64_t h) { return hop(h).to; });
    sort_by(job_.ranks.size(), [&](std::int64_t h) { return hop(h).from; });
    return order;
  }

  std::size_t Area(RankIndex rank, std::int32_t phase) const {
    return ReceiveArea(rank, phase, phases_);
  }

  // A rank's receipts of a phase lie in one slot, transfer after transfer, ordered by first column:
  // columns are numbered such that what is forwarded together then mostly lies together.
  void ArrangeReceiveSlots() {
    result_.areas.resize(job_.ranks.size() * phases_.bytes.size());
    for (std::size_t l = 0; l < result_.links.size(); ++l) {
      result_.areas[Area(result_.links[l].to, result_.links[l].phase)].push_back(
          static_cast<std::int32_t>(l));
    }
    for (std::vector<std::int32_t>& area : result_.areas) {
      std::sort(area.begin(), area.end(),
                [this](std::int32_t a, std::int32_t b) { return FirstColumn(a) < FirstColumn(b); });
      std::int32_t item = 0;
      for (const std::int32_t l : area) {
        for (const std::int64_t h : result_.links[static_cast<std::size_t>(l)].hops) {
          result_.hops[static_cast<std::size_t>(h)].item = item++;
        }
      }
    }
  }

  std::pair<std::int32_t, std::int32_t> FirstColumn(std::int32_t link) const {
    const Link& of = result_.links[static_cast<std::size_t>(link)];
    return {result_.hops[static_cast<std::size_t>(of.hops[0])].column, link};
  }

  void DecidePacking() {
    result_.pack_lag.assign(job_.ranks.size(), 0);
    for (Link& link : result_.links) {
      std::int32_t expected = -1;
      for (const std::int64_t h : link.hops) {
        const std::int64_t parent = result_.hops[static_cast<std::size_t>(h)].parent;
        if (parent < 0) {
          link.packed = true;
          continue;
        }
        link.forwards = true;
        const std::int32_t item = result_.hops[static_cast<std::size_t>(parent)].item;
        if (expected >= 0 && item != expected) link.packed = true;
        expected = item + 1;
      }
      if (link.packed && link.forwards) result_.pack_lag[static_cast<std::size_t>(link.from)] = 1;
    }
  }

  // The round in which chunk 0 makes each hop, from the phase's start: a forwarded chunk leaves one
  // round after it came, or two if it is packed in between.
  void TimeHops() {
    result_.shift.assign(routes_.columns.size(), 0);
    for (std::size_t c = 0; c < routes_.columns.size(); ++c) {
      bool network = false;
      for (std::int64_t h = column_hops_[c]; h < column_hops_[c + 1]; ++h) {
        Hop& hop = result_.hops[static_cast<std::size_t>(h)];
        if (hop.parent >= 0) {
          const bool packed = result_.links[static_cast<std::size_t>(hop.link)].packed;
          hop.round = result_.hops[static_cast<std::size_t>(hop.parent)].round + (packed ? 2 : 1);
        }
        if (!network && DomainOf(hop.from) != DomainOf(hop.to)) {
          network = true;
          result_.shift[c] = hop.round;
        }
      }
    }
    for (Link& link : result_.links) {
      link.first_round = link.last_round = RoundOfHop(link.hops[0]);
      for (const std::int64_t h : link.hops) {
        link.first_round = std::min(link.first_round, RoundOfHop(h));
        link.last_round = std::max(link.last_round, RoundOfHop(h));
      }
    }
  }

  RoundIndex RoundOfHop(std::int64_t hop) const {
    return result_.hops[static_cast<std::size_t>(hop)].round;
  }

  std::int32_t DomainOf(RankIndex rank) const {
    return job_.ranks[static_cast<std::size_t>(rank)].domain;
  }

  const JobRecords& job_;
  const Routes& routes_;
  const Phases& phases_;
  std::vector<std::int64_t> column_hops_;  // first hop of each column, and one past the last
  TransferLinks result_;
};

}  // namespace

TransferLinks MakeTransferLinks(const JobRecords& job, const Routes& routes, const Phases& phases) {
  return LinkMaker(job, routes, phases).Run();
}

}  // namespace reshard
