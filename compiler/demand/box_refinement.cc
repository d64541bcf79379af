#include "compiler/demand/box_refinement.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard {

bool BoxRefinement::Cut(std::span<const Region> regions, std::size_t dims) {
  regions_ = regions;
  boxes_.clear();
  FindCuts(dims);
  std::int64_t cells = 1;
  for (std::size_t k = 0; k < dims; ++k) {
    cells *= static_cast<std::int64_t>(cuts_[k].size()) - 1;
    if (cells > kMaxCells) return false;
  }
  PaintCells(dims, cells);
  JoinCells(dims, cells);
  return true;
}

void BoxRefinement::FindCuts(std::size_t dims) {
  cuts_.resize(dims);
  for (std::size_t k = 0; k < dims; ++k) {
    cuts_[k].clear();
    for (const Region& region : regions_) {
      cuts_[k].push_back(region.begin[k]);
      cuts_[k].push_back(region.begin[k] + region.extent[k]);
    }
    std::sort(cuts_[k].begin(), cuts_[k].end());
    cuts_[k].erase(std::unique(cuts_[k].begin(), cuts_[k].end()), cuts_[k].end());
  }
}

std::int32_t BoxRefinement::CutIndex(std::size_t dim, std::int64_t value) const {
  return static_cast<std::int32_t>(std::lower_bound(cuts_[dim].begin(), cuts_[dim].end(), value) -
                                   cuts_[dim].begin());
}

// cell_covers_[cell_first_[c] .. cell_first_[c + 1]) are the positions in `covers` of the regions
// that contain cell c, ascending.
void BoxRefinement::PaintCells(std::size_t dims, std::int64_t cells) {
  cell_first_.assign(static_cast<std::size_t>(cells) + 1, 0);
  for (const bool counting : {true, false}) {
    if (!counting) {
      std::partial_sum(cell_first_.begin(), cell_first_.end(), cell_first_.begin());
      cell_covers_.resize(static_cast<std::size_t>(cell_first_.back()));
      cell_next_.assign(cell_first_.begin(), cell_first_.end() - 1);
    }
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const Region& region = regions_[i];
      low_.resize(dims);
      high_.resize(dims);
      for (std::size_t k = 0; k < dims; ++k) {
        low_[k] = CutIndex(k, region.begin[k]);
        high_[k] = CutIndex(k, region.begin[k] + region.extent[k]);
      }
      at_ = low_;
      do {
        std::int64_t cell = 0;
        for (std::size_t k = 0; k < dims; ++k) {
          cell = cell * (static_cast<std::int64_t>(cuts_[k].size()) - 1) + at_[k];
        }
        if (counting) {
          ++cell_first_[static_cast<std::size_t>(cell) + 1];
        } else {
          cell_covers_[static_cast<std::size_t>(cell_next_[static_cast<std::size_t>(cell)]++)] =
              static_cast<std::int32_t>(i);
        }
      } while (Advance(dims));
    }
  }
}

// The next position of at_ in [low_, high_), last dim fastest; false after the last.
bool BoxRefinement::Advance(std::size_t dims) {
  for (std::size_t k = dims; k-- > 0;) {
    if (++at_[k] < high_[k]) return true;
    at_[k] = low_[k];
  }
  return false;
}

std::span<const std::int32_t> BoxRefinement::CellCovers(std::int64_t cell) const {
  const auto first = cell_first_[static_cast<std::size_t>(cell)];
  return std::span(cell_covers_)
      .subspan(static_cast<std::size_t>(first),
               static_cast<std::size_t>(cell_first_[static_cast<std::size_t>(cell) + 1] - first));
}

bool BoxRefinement::SameCovers(std::int64_t a, std::int64_t b) const {
  return std::ranges::equal(CellCovers(a), CellCovers(b));
}

// Equal neighbours become one box: along the last dim first, then the one before it, and so on.
void BoxRefinement::JoinCells(std::size_t dims, std::int64_t cells) {
  boxes_.clear();
  low_.assign(dims, 0);
  high_.resize(dims);
  for (std::size_t k = 0; k < dims; ++k) {
    high_[k] = static_cast<std::int32_t>(cuts_[k].size()) - 1;
  }
  at_ = low_;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    if (!CellCovers(cell).empty()) {
      Box box{at_, at_, cell};
      for (std::int32_t& last : box.last) ++last;
      const bool joins = !boxes_.empty() && dims > 0 && SameCovers(boxes_.back().cell, cell) &&
                         FollowsAlong(boxes_.back(), box, dims - 1);
      if (joins) {
        ++boxes_.back().last[dims - 1];
      } else {
        boxes_.push_back(std::move(box));
      }
    }
    Advance(dims);
  }
  for (std::size_t k = dims > 0 ? dims - 1 : 0; k-- > 0;) JoinAlong(k);
}

// b begins where a ends along `dim`, and is equal to it in all others.
bool BoxRefinement::FollowsAlong(const Box& a, const Box& b, std::size_t dim) {
  for (std::size_t k = 0; k < a.first.size(); ++k) {
    if (k == dim ? a.last[k] != b.first[k] : (a.first[k] != b.first[k] || a.last[k] != b.last[k])) {
      return false;
    }
  }
  return true;
}

void BoxRefinement::JoinAlong(std::size_t dim) {
  if (cuts_[dim].size() <= 2 || boxes_.size() < 2) return;
  const auto others_then_dim = [dim](const Box& a, const Box& b) {
    for (std::size_t k = 0; k < a.first.size(); ++k) {
      if (k == dim) continue;
      if (a.first[k] != b.first[k]) return a.first[k] < b.first[k];
      if (a.last[k] != b.last[k]) return a.last[k] < b.last[k];
    }
    return a.first[dim] < b.first[dim];
  };
  std::sort(boxes_.begin(), boxes_.end(), others_then_dim);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < boxes_.size(); ++i) {
    if (FollowsAlong(boxes_[kept], boxes_[i], dim) &&
        SameCovers(boxes_[kept].cell, boxes_[i].cell)) {
      boxes_[kept].last[dim] = boxes_[i].last[dim];
    } else if (++kept != i) {
      boxes_[kept] = std::move(boxes_[i]);
    }
  }
  boxes_.resize(kept + 1);
  std::sort(boxes_.begin(), boxes_.end(),
            [](const Box& a, const Box& b) { return a.first < b.first; });
}

}  // namespace reshard
