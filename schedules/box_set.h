// Sets of boxes of integers, and whether they are pairwise disjoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace reshard {

// Boxes of one number of dims, by number. A box is [begin, end) per dim, never empty.
class BoxSet {
 public:
  explicit BoxSet(std::size_t dims) : dims_(dims) {}
  void Add(std::span<const std::int64_t> begin, std::span<const std::int64_t> end) {
    bounds_.insert(bounds_.end(), begin.begin(), begin.end());
    bounds_.insert(bounds_.end(), end.begin(), end.end());
    ++size_;
  }
  void Clear() {
    bounds_.clear();
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  std::size_t dims() const { return dims_; }
  std::int64_t begin(std::size_t box, std::size_t dim) const {
    return bounds_[box * 2 * dims_ + dim];
  }
  std::int64_t end(std::size_t box, std::size_t dim) const {
    return bounds_[(box * 2 + 1) * dims_ + dim];
  }
  bool Overlap(std::size_t a, std::size_t b) const;

 private:
  std::size_t dims_;
  std::size_t size_ = 0;
  std::vector<std::int64_t> bounds_;
};

enum class Disjointness {
  kDisjoint,
  kOverlapping,
  kUndecided,  // too irregular for the work allowed
};

struct DisjointnessResult {
  Disjointness verdict = Disjointness::kDisjoint;
  std::pair<std::size_t, std::size_t> overlap;  // two boxes that overlap, if the verdict says so
};

// Splits the set wherever a plane separates it, dim by dim, and compares what no plane separates
// pair by pair. Boxes that tile a grid, as those of layouts do, take n log n steps per dim; at most
// `work_limit` comparisons are made.
DisjointnessResult PairwiseDisjoint(const BoxSet& boxes,
                                    std::int64_t work_limit = std::int64_t{1} << 31);

// Finds the boxes that contain a given one, in logarithmic time where boxes are disjoint.
class BoxTree {
 public:
  explicit BoxTree(BoxSet boxes);
  // Calls visit(box number) for each box that contains [begin, begin + extent), until it returns
  // true.
  template <typename Visitor>
  bool VisitContaining(std::span<const std::int64_t> begin, std::span<const std::int64_t> extent,
                       const Visitor& visit) const {
    std::vector<std::pair<std::size_t, std::size_t>> pending{{0, order_.size()}};
    while (!pending.empty()) {
      const auto [first, last] = pending.back();
      pending.pop_back();
      if (!HullContains(first, last, begin, extent)) continue;
      if (last - first == 1) {
        if (visit(order_[first])) return true;
        continue;
      }
      const std::size_t middle = first + (last - first) / 2;
      pending.emplace_back(middle, last);
      pending.emplace_back(first, middle);
    }
    return false;
  }

 private:
  void Build(std::size_t first, std::size_t last, std::size_t dim);
  std::size_t HullOf(std::size_t first, std::size_t last) const;
  bool HullContains(std::size_t first, std::size_t last, std::span<const std::int64_t> begin,
                    std::span<const std::int64_t> extent) const;

  BoxSet boxes_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> hulls_;  // by HullOf: dims begins, dims ends
};

}  // namespace reshard
