// How much the NICs of a domain on equal rails carry, such that they are level, and who carries it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "compiler/bounds/rank_resources.h"
#include "compiler/planning/rail_bundles.h"

namespace reshard {

// Bytes for some ranks: the preferred ones, and others of their domain where these are full.
struct LevelRequest {
  std::int64_t bytes = 0;
  std::vector<RankIndex> preferred;
  std::vector<RankIndex> others;

  // Of the preferred ranks only as many as the bytes are worth, different ones as `turn` says.
  void KeepWorth(std::int64_t turn, std::int64_t least_bytes);
};

// Bytes by domain and rail set.
using RailSetBytes = std::map<std::pair<DomainIndex, std::int32_t>, double>;

class NicLevels {
 public:
  // NICs that are busy for less than `least_seconds` need not be level.
  NicLevels(const RankResources& resources, const RailBundles& bundles, double least_seconds)
      : resources_(resources), bundles_(bundles), least_seconds_(least_seconds) {}

  // Bytes each rank should carry at most, given what the ranks of a domain on a rail set carry
  // together: as long as all of them on the mean, or the least that counts.
  std::vector<double> Limits(const RailSetBytes& bytes) const;

  // Ranks and their bytes, of each request: level over the preferred ranks; what would keep one of
  // them busy for longer than it should be goes to others that have room. `loads`: bytes that ranks
  // carry already, and on return what they carry in all.
  std::vector<std::vector<std::pair<RankIndex, std::int64_t>>> Deal(
      const std::vector<LevelRequest>& requests, std::vector<double>& loads) const;

 private:
  RailSetBytes BytesOf(const std::vector<double>& loads) const;

  const RankResources& resources_;
  const RailBundles& bundles_;
  double least_seconds_;
};

}  // namespace reshard
