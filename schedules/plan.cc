#include "schedules/plan.h"

#include <algorithm>
#include <cstddef>

namespace reshard {
namespace {

// 128 bits, since a column may have up to 2^63 - 1 bytes and a weight 2^32 - 1.
std::int64_t WeightedBytes(std::int64_t column_bytes, std::uint32_t weight) {
  __extension__ using Wide = unsigned __int128;
  const auto bytes = static_cast<std::int64_t>((static_cast<Wide>(column_bytes) * weight) >> 32U);
  return bytes / kChunkAlignmentBytes * kChunkAlignmentBytes;
}

// Bytes of the first `chunks` chunks, none of them the last one. Weights come in long runs of equal
// ones, whose product is taken once.
std::int64_t BytesBefore(std::int64_t column_bytes, const Profile& profile, std::int64_t chunks) {
  std::int64_t sum = 0;
  std::int64_t bytes = 0;
  for (std::int64_t k = 0; k < chunks; ++k) {
    const auto index = static_cast<std::size_t>(k);
    if (k == 0 || profile.weights[index] != profile.weights[index - 1]) {
      bytes = WeightedBytes(column_bytes, profile.weights[index]);
    }
    sum += bytes;
  }
  return sum;
}

const Column& ColumnOf(const SlotItem& item, const std::vector<Column>& columns) {
  return columns[static_cast<std::size_t>(item.column)];
}

const Profile& ProfileOf(const Column& column, const std::vector<Profile>& profiles) {
  return profiles[static_cast<std::size_t>(column.profile)];
}

}  // namespace

std::int64_t ChunkBytes(const Column& column, const Profile& profile, std::int64_t chunk) {
  const auto count = static_cast<std::int64_t>(profile.weights.size());
  if (chunk < 0 || chunk >= count) return 0;
  const std::int64_t bytes = column.end - column.begin;
  if (chunk < count - 1) {
    return WeightedBytes(bytes, profile.weights[static_cast<std::size_t>(chunk)]);
  }
  return bytes - BytesBefore(bytes, profile, count - 1);
}

ByteRange ChunkRange(const Column& column, const Profile& profile, std::int64_t chunk) {
  const auto count = static_cast<std::int64_t>(profile.weights.size());
  if (chunk < 0) return {column.begin, column.begin};
  if (chunk >= count) return {column.end, column.end};
  const std::int64_t bytes = column.end - column.begin;
  const std::int64_t begin = column.begin + BytesBefore(bytes, profile, chunk);
  if (chunk == count - 1) return {begin, column.end};
  return {begin, begin + WeightedBytes(bytes, profile.weights[static_cast<std::size_t>(chunk)])};
}

std::vector<std::int64_t> ChunkStarts(const Column& column, const Profile& profile) {
  const std::int64_t bytes = column.end - column.begin;
  std::vector<std::int64_t> starts;
  starts.reserve(profile.weights.size() + 1);
  std::int64_t start = column.begin;
  for (const std::uint32_t weight : profile.weights) {
    starts.push_back(start);
    start += WeightedBytes(bytes, weight);
  }
  starts.push_back(column.end);
  return starts;
}

std::vector<ItemPlacement> PlaceItems(const Slot& slot, RoundIndex round,
                                      const std::vector<Column>& columns,
                                      const std::vector<Profile>& profiles) {
  std::vector<ItemPlacement> placements;
  placements.reserve(slot.items.size());
  std::int64_t offset = 0;
  for (const SlotItem& item : slot.items) {
    const Column& column = ColumnOf(item, columns);
    const ByteRange bytes =
        ChunkRange(column, ProfileOf(column, profiles), std::int64_t{round} - item.first_round);
    placements.push_back({offset, bytes});
    offset += AlignedBytes(bytes.size());
  }
  return placements;
}

std::int64_t RunBytes(const Slot& slot, const SlotRun& run, RoundIndex round,
                      const std::vector<Column>& columns, const std::vector<Profile>& profiles) {
  std::int64_t bytes = 0;
  for (std::int32_t i = 0; i < run.item_count; ++i) {
    const SlotItem& item = slot.items[static_cast<std::size_t>(run.first_item + i)];
    const Column& column = ColumnOf(item, columns);
    bytes += AlignedBytes(
        ChunkBytes(column, ProfileOf(column, profiles), std::int64_t{round} - item.first_round));
  }
  return bytes;
}

RoundRange ActiveRounds(const SlotItem& item, const std::vector<Column>& columns,
                        const std::vector<Profile>& profiles) {
  const Column& column = ColumnOf(item, columns);
  const Profile& profile = ProfileOf(column, profiles);
  const auto count = static_cast<std::int64_t>(profile.weights.size());
  std::int64_t first = 0;
  while (first < count && ChunkBytes(column, profile, first) == 0) ++first;
  std::int64_t last = count;
  while (last > first && ChunkBytes(column, profile, last - 1) == 0) --last;
  return {static_cast<RoundIndex>(item.first_round + first),
          static_cast<RoundIndex>(item.first_round + last)};
}

}  // namespace reshard
