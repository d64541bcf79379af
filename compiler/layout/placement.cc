#include "compiler/layout/placement.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

std::size_t Index(int value) { return static_cast<std::size_t>(value); }

// Reads "(a)" or "(a, b)", spaces ignored; none if `text` is anything else.
std::optional<std::vector<std::int64_t>> ParseArguments(std::string_view text) {
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](char character) { return character != ' '; });
  if (packed.size() < 2 || packed.front() != '(' || packed.back() != ')') return std::nullopt;
  std::vector<std::int64_t> arguments;
  const char* at = packed.data() + 1;
  const char* const end = packed.data() + packed.size() - 1;
  while (true) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    arguments.push_back(number);
    if (next == end) return arguments;
    if (*next != ',') return std::nullopt;
    at = next + 1;
  }
}

Result<void> CheckSizes(const Sharding& sharding, const Mesh& mesh,
                        std::span<const std::int64_t> shape) {
  if (sharding.split.sizes.size() != mesh.axes.size()) {
    return InputError("",
                      "split has " + std::to_string(sharding.split.sizes.size()) +
                          " lists of sizes for " + std::to_string(mesh.axes.size()) + " mesh axes",
                      "give one list per mesh axis, empty where the axis does not cut");
  }
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const std::vector<std::int64_t>& sizes = sharding.split.sizes[axis];
    const Placement& placement = sharding.placements[axis];
    const std::string name = "mesh axis " + mesh.axes[axis].name;
    if (!placement.Cuts()) {
      if (sizes.empty()) continue;
      return InputError("", "split gives sizes for " + name + ", which does not cut");
    }
    for (std::size_t other = 0; other < axis; ++other) {
      if (!sharding.placements[other].Cuts() || sharding.placements[other].dim != placement.dim) {
        continue;
      }
      return InputError(
          "", "split gives sizes, but two mesh axes cut dim " + std::to_string(placement.dim),
          "use sizes only where one axis cuts the dim");
    }
    if (static_cast<std::int64_t>(sizes.size()) != mesh.axes[axis].size) {
      return InputError("", "split gives " + std::to_string(sizes.size()) + " sizes for " + name +
                                " of size " + std::to_string(mesh.axes[axis].size));
    }
    std::optional<std::int64_t> sum = 0;
    for (const std::int64_t size : sizes) {
      if (size < 0) return InputError("", "split gives a negative size for " + name);
      sum = sum ? CheckedAdd(*sum, size) : sum;
    }
    const std::int64_t whole = shape[Index(placement.dim)];
    if (!sum || *sum != whole) {
      return InputError("", "the sizes that split gives for " + name + " add up to " +
                                (sum ? std::to_string(*sum) : "more than 64 bits hold") +
                                ", but dim " + std::to_string(placement.dim) + " has " +
                                std::to_string(whole));
    }
  }
  return {};
}

}  // namespace

std::vector<std::int32_t> Mesh::Positions(std::int64_t rank_count) const {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(rank_count), -1);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    positions[static_cast<std::size_t>(ranks[i])] = static_cast<std::int32_t>(i);
  }
  return positions;
}

std::vector<std::int64_t> Mesh::Coordinate(std::int32_t position) const {
  std::vector<std::int64_t> coordinate(axes.size());
  std::int64_t rest = position;
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    coordinate[axis] = rest % axes[axis].size;
    rest /= axes[axis].size;
  }
  return coordinate;
}

Result<Placement> ParsePlacement(std::string_view text) {
  if (text == "R") return Placement{};
  if (text == "P" || text.starts_with("P(")) {
    return InputError("",
                      "placement '" + std::string(text) +
                          "' is partial: its ranks hold summands, not bytes of the tensor",
                      "reduce the tensor first and say R or S(dim)");
  }
  const bool strided = text.starts_with("_S");
  if (strided || text.starts_with("S")) {
    const auto arguments = ParseArguments(text.substr(strided ? 2 : 1));
    if (arguments && arguments->size() == (strided ? 2 : 1) && arguments->front() >= 0 &&
        arguments->front() <= 1000 && (!strided || arguments->back() >= 1)) {
      return Placement{strided ? Placement::Kind::kStridedShard : Placement::Kind::kShard,
                       static_cast<int>(arguments->front()), strided ? arguments->back() : 1};
    }
  }
  return InputError("", "'" + std::string(text) + "' is no placement",
                    "use R, S(dim) or _S(dim, split)");
}

Result<void> CheckSharding(const Sharding& sharding, const Mesh& mesh,
                           std::span<const std::int64_t> shape) {
  if (sharding.placements.size() != mesh.axes.size()) {
    return InputError("",
                      std::to_string(sharding.placements.size()) + " placements for " +
                          std::to_string(mesh.axes.size()) + " mesh axes",
                      "give one placement per mesh axis");
  }
  bool strided = false;
  for (const Placement& placement : sharding.placements) {
    if (!placement.Cuts()) continue;
    strided = strided || placement.kind == Placement::Kind::kStridedShard;
    if (Index(placement.dim) >= shape.size()) {
      return InputError("", "a placement cuts dim " + std::to_string(placement.dim) + " of " +
                                std::to_string(shape.size()) + " dims");
    }
  }
  if (strided && sharding.split.kind != Split::Kind::kChunk) {
    return InputError("", "_S cuts as torch does, by chunk, and takes no other split",
                      "leave split out");
  }
  if (sharding.split.kind == Split::Kind::kSizes) return CheckSizes(sharding, mesh, shape);
  return {};
}

DimRange CutDim(Split::Kind kind, std::int64_t size, std::int64_t count, std::int64_t index) {
  if (kind == Split::Kind::kBalanced) {
    const std::int64_t larger = size % count;
    const std::int64_t start = index * (size / count) + std::min(index, larger);
    return {start, start + size / count + (index < larger ? 1 : 0)};
  }
  // No product or sum here can overflow: it is formed only where it stays below `size`.
  const std::int64_t chunk = CeilDivide(size, count);
  if (chunk == 0 || index >= CeilDivide(size, chunk)) return {size, size};
  const std::int64_t start = index * chunk;
  return {start, size - start < chunk ? size : start + chunk};
}

Block LocalBlock(const Block& whole, const Sharding& sharding, const Mesh& mesh,
                 std::span<const std::int64_t> coordinate) {
  Block block = whole;
  for (const int axis : sharding.order) {
    const Placement& placement = sharding.placements[Index(axis)];
    if (!placement.Cuts()) continue;
    const std::int64_t count = mesh.axes[Index(axis)].size;
    const std::int64_t index = coordinate[Index(axis)];
    const std::int64_t size = block.shape()[Index(placement.dim)];
    if (sharding.split.kind == Split::Kind::kSizes) {
      const std::vector<std::int64_t>& sizes = sharding.split.sizes[Index(axis)];
      const std::int64_t start = std::accumulate(
          sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(index), std::int64_t{0});
      block = block.Slice(placement.dim, start, start + sizes[static_cast<std::size_t>(index)]);
      continue;
    }
    if (placement.kind == Placement::Kind::kShard) {
      const DimRange range = CutDim(sharding.split.kind, size, count, index);
      block = block.Slice(placement.dim, range.start, range.stop);
      continue;
    }
    // Chunk into `split` pieces, chunk each over the axis, join the index-th parts. Pieces past the
    // last element hold nothing.
    std::vector<Block> parts;
    for (std::int64_t piece = 0; piece < placement.split; ++piece) {
      const DimRange outer = CutDim(Split::Kind::kChunk, size, placement.split, piece);
      if (outer.start == outer.stop) break;
      const DimRange part = CutDim(Split::Kind::kChunk, outer.stop - outer.start, count, index);
      parts.push_back(
          block.Slice(placement.dim, outer.start + part.start, outer.start + part.stop));
    }
    block = parts.empty() ? block.Slice(placement.dim, 0, 0) : Block::Concat(placement.dim, parts);
  }
  return block;
}

}  // namespace reshard
