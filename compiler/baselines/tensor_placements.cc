#include "compiler/baselines/tensor_placements.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

namespace reshard {
namespace {

TensorBox BoxOf(const Region& region) {
  return {{region.begin.begin(), region.begin.end()}, {region.extent.begin(), region.extent.end()}};
}

// Appends `next` to `box` if it continues it along one dim and is equal in all others.
bool JoinInto(TensorBox& box, const TensorBox& next) {
  std::optional<std::size_t> along;
  for (std::size_t dim = 0; dim < box.begin.size(); ++dim) {
    const bool same = box.begin[dim] == next.begin[dim] && box.extent[dim] == next.extent[dim];
    if (same) continue;
    if (along || next.begin[dim] != box.begin[dim] + box.extent[dim]) return false;
    along = dim;
  }
  if (!along) return false;
  box.extent[*along] += next.extent[*along];
  return true;
}

// Appends to `rest` what of `box` lies outside of `taken`, as disjoint boxes.
void Subtract(TensorBox box, const TensorBox& taken, std::vector<TensorBox>& rest) {
  if (!Intersection(box, taken)) {
    rest.push_back(std::move(box));
    return;
  }
  for (std::size_t dim = 0; dim < box.begin.size(); ++dim) {
    const std::int64_t end = box.begin[dim] + box.extent[dim];
    const std::int64_t taken_end = taken.begin[dim] + taken.extent[dim];
    if (box.begin[dim] < taken.begin[dim]) {
      TensorBox& below = rest.emplace_back(box);
      below.extent[dim] = taken.begin[dim] - box.begin[dim];
      box.begin[dim] = taken.begin[dim];
    }
    if (end > taken_end) {
      TensorBox& above = rest.emplace_back(box);
      above.begin[dim] = taken_end;
      above.extent[dim] = end - taken_end;
    }
    box.extent[dim] = std::min(end, taken_end) - box.begin[dim];
  }
}

// `boxes` with what several of them have left to the first of them; ascending by begin.
std::vector<TensorBox> EachOnce(std::vector<TensorBox> boxes) {
  std::vector<TensorBox> disjoint;
  for (TensorBox& box : boxes) {
    std::vector<TensorBox> left{std::move(box)};
    const std::size_t known = disjoint.size();
    for (std::size_t i = 0; i < known && !left.empty(); ++i) {
      std::vector<TensorBox> outside;
      for (TensorBox& part : left) Subtract(std::move(part), disjoint[i], outside);
      left = std::move(outside);
    }
    disjoint.insert(disjoint.end(), left.begin(), left.end());
  }
  std::ranges::sort(disjoint, {}, &TensorBox::begin);
  return disjoint;
}

// The regions of one layout, tensor by tensor.
class LayoutCursor {
 public:
  explicit LayoutCursor(const RegionTable& regions) : regions_(regions) {}

  // Boxes of `tensor`, each byte in one of them however many places it has; tensors ascend from
  // call to call.
  std::vector<TensorBox> Next(TensorIndex tensor) {
    while (next_ < regions_.size() && regions_[next_].tensor < tensor) ++next_;
    std::vector<TensorBox> all;
    for (; next_ < regions_.size() && regions_[next_].tensor == tensor; ++next_) {
      all.push_back(BoxOf(regions_[next_]));
    }
    std::vector<TensorBox> boxes;
    for (TensorBox& box : EachOnce(std::move(all))) {
      if (boxes.empty() || !JoinInto(boxes.back(), box)) boxes.push_back(std::move(box));
    }
    return boxes;
  }

 private:
  const RegionTable& regions_;
  std::int64_t next_ = 0;
};

// One side of the job: its layouts and the ranks of each.
class Side {
 public:
  Side(const JobRecords& job, LayoutIndex Rank::*layout_of) {
    std::map<LayoutIndex, std::vector<RankIndex>> ranks;
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
      const LayoutIndex layout = job.ranks[rank].*layout_of;
      if (layout != kNoLayout) ranks[layout].push_back(static_cast<RankIndex>(rank));
    }
    for (auto& [layout, of_layout] : ranks) {
      cursors_.emplace_back(job.layouts[static_cast<std::size_t>(layout)].regions);
      ranks_.push_back(std::move(of_layout));
    }
  }

  // Appends to `key` all that this side has of `tensor`; tensors ascend from call to call.
  void AppendKey(TensorIndex tensor, std::vector<std::int64_t>& key) {
    boxes_.clear();
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      std::vector<TensorBox> boxes = cursors_[i].Next(tensor);
      if (boxes.empty()) continue;
      key.push_back(static_cast<std::int64_t>(i));
      key.push_back(static_cast<std::int64_t>(boxes.size()));
      for (const TensorBox& box : boxes) {
        key.insert(key.end(), box.begin.begin(), box.begin.end());
        key.insert(key.end(), box.extent.begin(), box.extent.end());
      }
      boxes_.emplace_back(i, std::move(boxes));
    }
    key.push_back(-1);
  }

  // The shards of the tensor of the last AppendKey().
  std::vector<Shard> Shards() const {
    std::vector<Shard> shards;
    for (const auto& [i, boxes] : boxes_) {
      Shard& shard = ShardOf(boxes, shards);
      shard.ranks.insert(shard.ranks.end(), ranks_[i].begin(), ranks_[i].end());
    }
    for (Shard& shard : shards) std::ranges::sort(shard.ranks);
    SortShards(shards);
    return shards;
  }

 private:
  std::vector<LayoutCursor> cursors_;
  std::vector<std::vector<RankIndex>> ranks_;
  std::vector<std::pair<std::size_t, std::vector<TensorBox>>> boxes_;  // of the last tensor
};

std::int64_t Product(const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

}  // namespace

std::int64_t TensorBox::Elements() const { return Product(extent); }

std::int64_t Shard::Elements() const {
  std::int64_t elements = 0;
  for (const TensorBox& box : boxes) elements += box.Elements();
  return elements;
}

TensorBox WholeBox(const std::vector<std::int64_t>& shape) {
  return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

Shard& ShardOf(std::vector<TensorBox> boxes, std::vector<Shard>& shards) {
  const auto same = std::ranges::find(shards, boxes, &Shard::boxes);
  return same == shards.end() ? shards.emplace_back(Shard{std::move(boxes), {}}) : *same;
}

void SortShards(std::vector<Shard>& shards) {
  std::ranges::sort(shards, [](const Shard& a, const Shard& b) {
    const TensorBox& first = a.boxes.front();
    const TensorBox& second = b.boxes.front();
    return std::tie(first.begin, first.extent, a.ranks) <
           std::tie(second.begin, second.extent, b.ranks);
  });
}

std::optional<TensorBox> Intersection(const TensorBox& a, const TensorBox& b) {
  TensorBox common = a;
  for (std::size_t dim = 0; dim < a.begin.size(); ++dim) {
    const std::int64_t begin = std::max(a.begin[dim], b.begin[dim]);
    const std::int64_t end = std::min(a.begin[dim] + a.extent[dim], b.begin[dim] + b.extent[dim]);
    if (begin >= end) return std::nullopt;
    common.begin[dim] = begin;
    common.extent[dim] = end - begin;
  }
  return common;
}

bool IsContiguous(const TensorBox& part, const TensorBox& whole) {
  // Leading dims of one element, then at most one partial dim, then whole ones.
  std::size_t dim = 0;
  while (dim < part.extent.size() && part.extent[dim] == 1) ++dim;
  for (++dim; dim < part.extent.size(); ++dim) {
    if (part.extent[dim] != whole.extent[dim]) return false;
  }
  return true;
}

std::string StarredName(std::string_view name) {
  std::string pattern;
  while (!name.empty()) {
    const std::string_view piece = name.substr(0, name.find('.'));
    name.remove_prefix(piece.size());
    const bool number =
        !piece.empty() && piece.find_first_not_of("0123456789") == std::string_view::npos;
    pattern += number ? "*" : piece;
    if (name.empty()) break;
    pattern += '.';
    name.remove_prefix(1);
  }
  return pattern;
}

std::vector<PlacedTensors> PlaceTensors(const JobRecords& job) {
  Side source(job, &Rank::source_layout);
  Side destination(job, &Rank::destination_layout);
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::size_t> known;
  std::vector<PlacedTensors> placed;
  for (std::size_t index = 0; index < job.tensors.size(); ++index) {
    const Tensor& tensor = job.tensors[index];
    const auto number = static_cast<TensorIndex>(index);
    std::vector<std::int64_t> key{static_cast<std::int64_t>(tensor.dtype)};
    key.insert(key.end(), tensor.shape.begin(), tensor.shape.end());
    key.push_back(-1);
    source.AppendKey(number, key);
    destination.AppendKey(number, key);
    std::string pattern = StarredName(tensor.name);
    const auto [found, is_new] =
        known.try_emplace(std::pair(pattern, std::move(key)), placed.size());
    if (is_new) {
      placed.push_back({{},
                        std::move(pattern),
                        ElementBytes(tensor.dtype),
                        tensor.shape,
                        source.Shards(),
                        destination.Shards()});
    }
    placed[found->second].tensors.push_back(number);
  }
  return placed;
}

}  // namespace reshard
