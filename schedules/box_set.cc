#include "schedules/box_set.h"

#include <algorithm>
#include <numeric>

namespace reshard {
namespace {

// Below this many boxes, comparing all pairs is cheaper than sorting.
constexpr std::size_t kSmallSet = 8;

// The boxes order[first, last) are to be told apart.
struct Group {
  std::size_t first;
  std::size_t last;
};

class Separator {
 public:
  Separator(const BoxSet& boxes, std::int64_t work_limit)
      : boxes_(boxes), work_left_(work_limit), order_(boxes.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (!order_.empty()) pending_.push_back({0, order_.size()});
  }

  DisjointnessResult Run() {
    while (!pending_.empty()) {
      const Group group = pending_.back();
      pending_.pop_back();
      if (group.last - group.first > kSmallSet && Split(group)) continue;
      const Disjointness verdict = ComparePairs(group);
      if (verdict != Disjointness::kDisjoint) return {verdict, overlap_};
    }
    return {};
  }

 private:
  bool Spend(std::size_t work) {
    work_left_ -= static_cast<std::int64_t>(work);
    return work_left_ >= 0;
  }

  // Cuts the group at every plane of the first dim that has one; false if no dim has.
  bool Split(const Group& group) {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(group.first);
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(group.last);
    for (std::size_t dim = 0; dim < boxes_.dims(); ++dim) {
      if (!Spend(group.last - group.first)) return false;
      std::sort(begin, end, [this, dim](std::size_t a, std::size_t b) {
        return std::pair(boxes_.begin(a, dim), a) < std::pair(boxes_.begin(b, dim), b);
      });
      std::size_t first = group.first;
      std::int64_t reach = boxes_.end(order_[first], dim);
      for (std::size_t i = first + 1; i < group.last; ++i) {
        if (boxes_.begin(order_[i], dim) >= reach) {
          pending_.push_back({first, i});
          first = i;
        }
        reach = std::max(reach, boxes_.end(order_[i], dim));
      }
      if (first != group.first) {
        pending_.push_back({first, group.last});
        return true;
      }
    }
    return false;
  }

  Disjointness ComparePairs(const Group& group) {
    for (std::size_t i = group.first; i < group.last; ++i) {
      if (!Spend(group.last - i)) return Disjointness::kUndecided;
      for (std::size_t k = i + 1; k < group.last; ++k) {
        if (boxes_.Overlap(order_[i], order_[k])) {
          overlap_ = std::minmax(order_[i], order_[k]);
          return Disjointness::kOverlapping;
        }
      }
    }
    return Disjointness::kDisjoint;
  }

  const BoxSet& boxes_;
  std::int64_t work_left_;
  std::vector<std::size_t> order_;
  std::vector<Group> pending_;
  std::pair<std::size_t, std::size_t> overlap_;
};

}  // namespace

bool BoxSet::Overlap(std::size_t a, std::size_t b) const {
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    if (begin(a, dim) >= end(b, dim) || begin(b, dim) >= end(a, dim)) return false;
  }
  return true;
}

DisjointnessResult PairwiseDisjoint(const BoxSet& boxes, std::int64_t work_limit) {
  return Separator(boxes, work_limit).Run();
}

BoxTree::BoxTree(BoxSet boxes) : boxes_(std::move(boxes)), order_(boxes_.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  hulls_.resize(order_.size() * 2 * boxes_.dims());
  if (order_.size() > 1) Build(0, order_.size(), 0);
}

// A node of several boxes is known by its middle, which no other node has.
std::size_t BoxTree::HullOf(std::size_t first, std::size_t last) const {
  return (first + (last - first) / 2) * 2 * boxes_.dims();
}

void BoxTree::Build(std::size_t first, std::size_t last, std::size_t dim) {
  const std::size_t dims = boxes_.dims();
  std::int64_t* const hull = hulls_.data() + HullOf(first, last);
  for (std::size_t k = 0; k < dims; ++k) {
    hull[k] = boxes_.begin(order_[first], k);
    hull[dims + k] = boxes_.end(order_[first], k);
    for (std::size_t i = first + 1; i < last; ++i) {
      hull[k] = std::min(hull[k], boxes_.begin(order_[i], k));
      hull[dims + k] = std::max(hull[dims + k], boxes_.end(order_[i], k));
    }
  }
  const std::size_t middle = first + (last - first) / 2;
  if (dims > 0) {
    const auto at = [this](std::size_t i) {
      return order_.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::nth_element(at(first), at(middle), at(last), [this, dim](std::size_t a, std::size_t b) {
      return std::pair(boxes_.begin(a, dim), a) < std::pair(boxes_.begin(b, dim), b);
    });
  }
  const std::size_t next = dims > 0 ? (dim + 1) % dims : 0;
  if (middle - first > 1) Build(first, middle, next);
  if (last - middle > 1) Build(middle, last, next);
}

bool BoxTree::HullContains(std::size_t first, std::size_t last, std::span<const std::int64_t> begin,
                           std::span<const std::int64_t> extent) const {
  const std::size_t dims = boxes_.dims();
  for (std::size_t k = 0; k < dims; ++k) {
    const bool is_leaf = last - first == 1;
    const std::int64_t low =
        is_leaf ? boxes_.begin(order_[first], k) : hulls_[HullOf(first, last) + k];
    const std::int64_t high =
        is_leaf ? boxes_.end(order_[first], k) : hulls_[HullOf(first, last) + dims + k];
    if (begin[k] < low || begin[k] + extent[k] > high) return false;
  }
  return true;
}

}  // namespace reshard
