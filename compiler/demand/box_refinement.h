// The common refinement of regions of one tensor: the cells of the grid of their cut points, equal
// neighbours joined along the last dim first, then the one before it, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/region_table.h"

namespace reshard {

class BoxRefinement {
 public:
  // The cells a tensor may be cut into; beyond it no real layout goes and memory would.
  static constexpr std::int64_t kMaxCells = std::int64_t{1} << 27;

  // A box in units of cut intervals; `cell` is one of the cells it was joined from.
  struct Box {
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> last;
    std::int64_t cell = 0;
  };

  // Cuts what the regions of `dims` dims cover; false where that is more than kMaxCells cells. They
  // are looked at no longer than this call lasts.
  bool Cut(std::span<const Region> regions, std::size_t dims);

  // In order of their places; what no region covers is in none.
  const std::vector<Box>& boxes() const { return boxes_; }
  std::int64_t Begin(const Box& box, std::size_t dim) const {
    return cuts_[dim][static_cast<std::size_t>(box.first[dim])];
  }
  std::int64_t End(const Box& box, std::size_t dim) const {
    return cuts_[dim][static_cast<std::size_t>(box.last[dim])];
  }
  // The regions that contain the box, ascending.
  std::span<const std::int32_t> CoversOf(const Box& box) const { return CellCovers(box.cell); }

 private:
  void FindCuts(std::size_t dims);
  std::int32_t CutIndex(std::size_t dim, std::int64_t value) const;
  void PaintCells(std::size_t dims, std::int64_t cells);
  bool Advance(std::size_t dims);
  std::span<const std::int32_t> CellCovers(std::int64_t cell) const;
  bool SameCovers(std::int64_t a, std::int64_t b) const;
  void JoinCells(std::size_t dims, std::int64_t cells);
  static bool FollowsAlong(const Box& a, const Box& b, std::size_t dim);
  void JoinAlong(std::size_t dim);

  std::span<const Region> regions_;
  std::vector<std::vector<std::int64_t>> cuts_;
  std::vector<std::int64_t> cell_first_, cell_next_;
  std::vector<std::int32_t> cell_covers_;
  std::vector<std::int32_t> low_, high_, at_;
  std::vector<Box> boxes_;
};

}  // namespace reshard
