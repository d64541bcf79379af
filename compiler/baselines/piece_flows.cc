#include "compiler/baselines/piece_flows.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace reshard {
namespace {

// Appends what is left of `box` without `taken`, a box inside it.
void AppendRest(TensorBox box, const TensorBox& taken, std::vector<TensorBox>& rest) {
  for (std::size_t dim = 0; dim < box.begin.size(); ++dim) {
    const std::int64_t begin = box.begin[dim];
    const std::int64_t end = begin + box.extent[dim];
    const std::int64_t taken_end = taken.begin[dim] + taken.extent[dim];
    if (begin < taken.begin[dim]) {
      rest.push_back(box);
      rest.back().extent[dim] = taken.begin[dim] - begin;
    }
    if (taken_end < end) {
      rest.push_back(box);
      rest.back().begin[dim] = taken_end;
      rest.back().extent[dim] = end - taken_end;
    }
    box.begin[dim] = taken.begin[dim];
    box.extent[dim] = taken.extent[dim];
  }
}

// Moves what `shard` has of `missing` into boxes of its own.
std::vector<TensorBox> Take(const Shard& shard, std::vector<TensorBox>& missing) {
  std::vector<TensorBox> taken;
  for (const TensorBox& held : shard.boxes) {
    std::vector<TensorBox> rest;
    for (TensorBox& box : missing) {
      std::optional<TensorBox> common = Intersection(box, held);
      if (!common) {
        rest.push_back(std::move(box));
        continue;
      }
      AppendRest(std::move(box), *common, rest);
      taken.push_back(*std::move(common));
    }
    missing = std::move(rest);
  }
  std::ranges::sort(taken, {}, &TensorBox::begin);
  return taken;
}

// Whether `boxes` are one run of bytes in a row-major buffer of `shard`.
bool IsOneRun(const std::vector<TensorBox>& boxes, const Shard& shard) {
  return boxes.size() == 1 && shard.boxes.size() == 1 &&
         IsContiguous(boxes.front(), shard.boxes.front());
}

}  // namespace

std::int64_t ShardPiece::Elements() const {
  std::int64_t elements = 0;
  for (const TensorBox& box : boxes) elements += box.Elements();
  return elements;
}

std::vector<ShardPiece> PiecesOf(const PlacedTensors& placed, const Shard& destination,
                                 RankIndex own) {
  std::vector<std::size_t> order(placed.sources.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_partition(order, [&](std::size_t i) {
    return std::ranges::binary_search(placed.sources[i].ranks, own);
  });
  std::vector<ShardPiece> pieces;
  std::vector<TensorBox> missing = destination.boxes;
  for (const std::size_t source : order) {
    if (missing.empty()) break;
    const Shard& shard = placed.sources[source];
    std::vector<TensorBox> boxes = Take(shard, missing);
    if (boxes.empty()) continue;
    const bool packs = !IsOneRun(boxes, shard);
    const bool unpacks = !IsOneRun(boxes, destination);
    pieces.push_back({source, std::move(boxes), packs, unpacks});
  }
  std::ranges::sort(pieces, {}, &ShardPiece::source);
  return pieces;
}

void AddPiece(const ShardPiece& piece, const PlacedTensors& placed, RankIndex from, RankIndex to,
              PhaseBuilder& phase) {
  const std::int64_t bytes = piece.Elements() * placed.element_bytes * placed.count();
  if (from == to) {
    phase.AddUnpack(to, bytes);
    return;
  }
  phase.AddFlow(from, to, bytes, placed.count());
  if (piece.packs) phase.AddPack(from, bytes);
  if (piece.unpacks) phase.AddUnpack(to, bytes);
}

}  // namespace reshard
