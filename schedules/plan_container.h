// The file around a plan's sections: magic, schema version, a table, the sections.
//
// All numbers are little-endian. The head is 40 bytes:
//   8  magic "\x89RSHPLN\n": a byte no text has, and a line end that text transfers change
//   4  schema version
//   4  number of sections
//   8  bytes of the whole file
//   8  XXH3-64 of the table
//   8  XXH3-64 of the 32 bytes before it
// Then one row of 40 bytes per section, ascending by (kind, index, part):
//   4  kind    4  index (of the layout or rank, else 0)    4  part    4  zero
//   8  offset in the file    8  bytes    8  XXH3-64 of the section
// Then the sections in the table's order, without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "foundation/error.h"

namespace reshard {

enum class SectionKind : std::uint32_t {
  kHeader = 1,
  kJobText,
  kTensors,
  kRanks,
  kInPlace,
  kParameters,  // one per layout
  kRegions,     // per layout, in parts
  kDemand,
  kFragments,  // in parts
  kPrograms,   // per layout, in parts
  kSchedule,
  kTransfers,  // in parts
  kRank,       // one per rank
  kTraffic,    // of a simulation-only plan
  kZeros,      // per layout that declares any, in parts
};
inline constexpr std::uint32_t kLastSectionKind = static_cast<std::uint32_t>(SectionKind::kZeros);

// "regions of layout 3, part 1".
std::string SectionName(SectionKind kind, std::uint32_t index, std::uint32_t part);

struct SectionRow {
  SectionKind kind = SectionKind::kHeader;
  std::uint32_t index = 0;
  std::uint32_t part = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;
  std::tuple<SectionKind, std::uint32_t, std::uint32_t> key() const { return {kind, index, part}; }
};

inline constexpr std::size_t kContainerHeadBytes = 40;
inline constexpr std::size_t kSectionRowBytes = 40;

// A file in the making. Sections are added in ascending order of (kind, index, part).
class ContainerWriter {
 public:
  void Add(SectionKind kind, std::uint32_t index, std::uint32_t part, std::string bytes);
  // Leaves the writer empty.
  std::string Finish(std::uint32_t schema_version);

 private:
  std::vector<SectionRow> rows_;
  std::vector<std::string> sections_;
};

struct ContainerHead {
  std::uint32_t section_count = 0;
  std::uint64_t table_hash = 0;
};
// Reads the head of a file of `file_bytes` bytes. `place` names the file in errors.
Result<ContainerHead> ReadContainerHead(std::string_view head, std::uint64_t file_bytes,
                                        std::uint32_t schema_version, const std::string& place);
// Reads the table, whose bytes follow the head.
Result<std::vector<SectionRow>> ReadContainerTable(const ContainerHead& head,
                                                   std::string_view table, std::uint64_t file_bytes,
                                                   const std::string& place);

// The rows of one kind and index, by part; they are numbered 0.. without gaps or an Error says so.
Result<std::span<const SectionRow>> FindSections(std::span<const SectionRow> table,
                                                 SectionKind kind, std::uint32_t index,
                                                 const std::string& place);

// Fails where the bytes of a section are not those its row was written for.
Result<void> CheckSection(const SectionRow& row, std::string_view bytes, const std::string& place);

}  // namespace reshard
