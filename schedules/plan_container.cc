#include "schedules/plan_container.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <utility>

namespace reshard {
namespace {

constexpr std::string_view kMagic("\x89RSHPLN\n", 8);
constexpr std::size_t kHashedHeadBytes = kContainerHeadBytes - 8;

constexpr std::array<std::string_view, kLastSectionKind + 1> kKindNames{
    "",           "header",   "job text", "tensors",   "ranks",    "in-place pairs",
    "parameters", "regions",  "demand",   "fragments", "programs", "schedule",
    "transfers",  "schedule", "traffic",  "zeros"};

template <std::unsigned_integral Number>
void Append(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
  }
}

template <std::unsigned_integral Number>
Number Read(std::string_view bytes, std::size_t offset) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= static_cast<Number>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  }
  return value;
}

std::uint64_t Hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

constexpr const char* kRecompile = "write the plan again with reshard-compile, or copy it again";

}  // namespace

std::string SectionName(SectionKind kind, std::uint32_t index, std::uint32_t part) {
  std::string name(kKindNames[static_cast<std::size_t>(kind)]);
  if (kind == SectionKind::kParameters || kind == SectionKind::kRegions ||
      kind == SectionKind::kPrograms || kind == SectionKind::kZeros) {
    name += fmt::format(" of layout {}", index);
  }
  if (kind == SectionKind::kRank) name += fmt::format(" of rank {}", index);
  if (part > 0) name += fmt::format(", part {}", part);
  return name;
}

void ContainerWriter::Add(SectionKind kind, std::uint32_t index, std::uint32_t part,
                          std::string bytes) {
  rows_.push_back({kind, index, part, 0, bytes.size(), Hash(bytes)});
  sections_.push_back(std::move(bytes));
}

std::string ContainerWriter::Finish(std::uint32_t schema_version) {
  std::uint64_t offset = kContainerHeadBytes + kSectionRowBytes * rows_.size();
  std::string table;
  for (SectionRow& row : rows_) {
    row.offset = offset;
    offset += row.size;
    Append(table, static_cast<std::uint32_t>(row.kind));
    Append(table, row.index);
    Append(table, row.part);
    Append(table, std::uint32_t{0});
    Append(table, row.offset);
    Append(table, row.size);
    Append(table, row.hash);
  }
  std::string file(kMagic);
  file.reserve(offset);
  Append(file, schema_version);
  Append(file, static_cast<std::uint32_t>(rows_.size()));
  Append(file, offset);
  Append(file, Hash(table));
  Append(file, Hash(file));
  file += table;
  for (std::string& section : sections_) {
    file += section;
    section = std::string();
  }
  rows_.clear();
  sections_.clear();
  return file;
}

Result<ContainerHead> ReadContainerHead(std::string_view head, std::uint64_t file_bytes,
                                        std::uint32_t schema_version, const std::string& place) {
  if (head.size() < kMagic.size() || head.substr(0, kMagic.size()) != kMagic) {
    const bool is_cut =
        head.size() < kMagic.size() && kMagic.substr(0, head.size()) == head && !head.empty();
    if (is_cut) return InputError(place, "the plan is truncated", kRecompile);
    return InputError(place, "this is not a plan of reshard",
                      "give a file that reshard-compile has written");
  }
  if (head.size() < kContainerHeadBytes) {
    return InputError(place, "the plan is truncated", kRecompile);
  }
  // The version comes first of all: what follows may mean something else in another one.
  const auto version = Read<std::uint32_t>(head, 8);
  if (version > schema_version) {
    return InputError(place,
                      fmt::format("the plan has schema version {}, this program reads up to {}",
                                  version, schema_version),
                      "use the program that wrote it, or a newer one");
  }
  if (Hash(head.substr(0, kHashedHeadBytes)) != Read<std::uint64_t>(head, kHashedHeadBytes)) {
    return InputError(place, "the head of the plan is damaged", kRecompile);
  }
  if (version < schema_version) {
    return InputError(place,
                      fmt::format("the plan has schema version {}, this program reads {}", version,
                                  schema_version),
                      kRecompile);
  }
  const auto stated_bytes = Read<std::uint64_t>(head, 16);
  if (stated_bytes != file_bytes) {
    return InputError(
        place,
        fmt::format("the plan {}: it was written with {} bytes and has {}",
                    stated_bytes > file_bytes ? "is truncated" : "has bytes behind it",
                    stated_bytes, file_bytes),
        kRecompile);
  }
  return ContainerHead{Read<std::uint32_t>(head, 12), Read<std::uint64_t>(head, 24)};
}

Result<std::vector<SectionRow>> ReadContainerTable(const ContainerHead& head,
                                                   std::string_view table, std::uint64_t file_bytes,
                                                   const std::string& place) {
  if (table.size() != kSectionRowBytes * head.section_count || Hash(table) != head.table_hash) {
    return InputError(place, "the table of the plan is damaged", kRecompile);
  }
  std::vector<SectionRow> rows;
  rows.reserve(head.section_count);
  std::uint64_t offset = kContainerHeadBytes + table.size();
  for (std::size_t at = 0; at < table.size(); at += kSectionRowBytes) {
    const auto kind = Read<std::uint32_t>(table, at);
    SectionRow row{static_cast<SectionKind>(kind),      Read<std::uint32_t>(table, at + 4),
                   Read<std::uint32_t>(table, at + 8),  Read<std::uint64_t>(table, at + 16),
                   Read<std::uint64_t>(table, at + 24), Read<std::uint64_t>(table, at + 32)};
    const bool is_known =
        kind >= 1 && kind <= kLastSectionKind && Read<std::uint32_t>(table, at + 12) == 0;
    const bool is_next = rows.empty() || rows.back().key() < row.key();
    if (!is_known || !is_next || row.offset != offset || row.size > file_bytes - offset) {
      return InputError(place, "the table of the plan is not one that reshard writes", kRecompile);
    }
    offset += row.size;
    rows.push_back(row);
  }
  if (offset != file_bytes) {
    return InputError(place, "the plan has bytes that belong to no section", kRecompile);
  }
  return rows;
}

Result<std::span<const SectionRow>> FindSections(std::span<const SectionRow> table,
                                                 SectionKind kind, std::uint32_t index,
                                                 const std::string& place) {
  const auto first = std::partition_point(table.begin(), table.end(), [&](const SectionRow& row) {
    return std::pair(row.kind, row.index) < std::pair(kind, index);
  });
  const auto last = std::partition_point(first, table.end(), [&](const SectionRow& row) {
    return std::pair(row.kind, row.index) == std::pair(kind, index);
  });
  for (auto row = first; row != last; ++row) {
    if (row->part != static_cast<std::uint64_t>(row - first)) {
      return InputError(place,
                        fmt::format("the plan lacks a part of its {}", SectionName(kind, index, 0)),
                        kRecompile);
    }
  }
  return std::span(first, last);
}

Result<void> CheckSection(const SectionRow& row, std::string_view bytes, const std::string& place) {
  if (bytes.size() == row.size && Hash(bytes) == row.hash) return {};
  return InputError(place,
                    fmt::format("the section \"{}\" of the plan is damaged",
                                SectionName(row.kind, row.index, row.part)),
                    kRecompile);
}

}  // namespace reshard
