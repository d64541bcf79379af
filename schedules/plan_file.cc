// Plan files on disk: whole ones, and one rank's part of one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "schedules/plan_codec.h"
#include "schedules/plan_container.h"
#include "schedules/plan_sections.h"

namespace reshard {
namespace {

using codec::DecodeBudget;
using codec::SectionContext;

// A file that is open for reading; pieces of it are read by offset.
class InputFile {
 public:
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  Result<void> Open(const std::string& path) {
    path_ = path;
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) return Fail(std::strerror(errno));
    struct stat status = {};
    if (fstat(descriptor_, &status) != 0) return Fail(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) return Fail("it is not a regular file");
    size_ = static_cast<std::uint64_t>(status.st_size);
    return {};
  }

  std::uint64_t size() const { return size_; }

  // Bytes [offset, offset + count), fewer where the file ends before.
  Result<std::string> Read(std::uint64_t offset, std::uint64_t count) const {
    std::string bytes(std::min(count, size_ - std::min(offset, size_)), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = pread(descriptor_, bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Fail(std::strerror(errno));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

 private:
  tl::unexpected<Error> Fail(const std::string& reason) const {
    return InputError(path_, "cannot read the plan: " + reason,
                      "check the path and its permissions");
  }

  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string path_;
};

// Reads the sections of one rank out of a file.
class RankPartReader {
 public:
  RankPartReader(const InputFile& file, std::string place)
      : file_(file), place_(std::move(place)), budget_(file.size()) {}

  Result<RankPart> Read(RankIndex rank);
  // A plan of which only what the header has is there.
  Result<Plan> ReadHeader();

 private:
  template <typename Function>
  Result<void> ForParts(SectionKind kind, std::int64_t index, const Function& decode) {
    const auto rows = FindSections(table_, kind, static_cast<std::uint32_t>(index), place_);
    if (!rows) return tl::unexpected(rows.error());
    for (const SectionRow& row : *rows) {
      const auto bytes = file_.Read(row.offset, row.size);
      if (!bytes) return tl::unexpected(bytes.error());
      if (auto sound = CheckSection(row, *bytes, place_); !sound) return sound;
      const SectionContext context{place_, SectionName(kind, row.index, row.part), &budget_};
      if (Result<void> done = decode(std::string_view(*bytes), context); !done) return done;
    }
    return {};
  }

  Result<void> ReadTable();
  Result<void> ReadLayout(LayoutIndex layout, const std::vector<ClassIndex>& classes,
                          std::vector<Parameter>& parameters, std::vector<Conversion>& conversions,
                          std::vector<CopyProgram>& programs);

  const InputFile& file_;
  std::string place_;
  DecodeBudget budget_;
  std::vector<SectionRow> table_;
};

Result<void> RankPartReader::ReadTable() {
  const auto head_bytes = file_.Read(0, kContainerHeadBytes);
  if (!head_bytes) return tl::unexpected(head_bytes.error());
  const auto head = ReadContainerHead(*head_bytes, file_.size(), kPlanSchemaVersion, place_);
  if (!head) return tl::unexpected(head.error());
  const auto bytes = file_.Read(kContainerHeadBytes, kSectionRowBytes * head->section_count);
  if (!bytes) return tl::unexpected(bytes.error());
  auto table = ReadContainerTable(*head, *bytes, file_.size(), place_);
  if (!table) return tl::unexpected(table.error());
  table_ = std::move(*table);
  return {};
}

Result<void> RankPartReader::ReadLayout(LayoutIndex layout, const std::vector<ClassIndex>& classes,
                                        std::vector<Parameter>& parameters,
                                        std::vector<Conversion>& conversions,
                                        std::vector<CopyProgram>& programs) {
  if (layout == kNoLayout) return {};
  Result<void> done = ForParts(
      SectionKind::kParameters, layout, [&](std::string_view bytes, const SectionContext& context) {
        return codec::DecodeParameters(bytes, context, parameters, conversions);
      });
  if (!done || classes.empty()) return done;
  std::vector<CopyProgram> all;
  done = ForParts(SectionKind::kPrograms, layout,
                  [&all, layout](std::string_view bytes, const SectionContext& context) {
                    return codec::DecodePrograms(bytes, context, layout, all);
                  });
  for (CopyProgram& program : all) {
    if (std::binary_search(classes.begin(), classes.end(), program.demand_class)) {
      programs.push_back(std::move(program));
    }
  }
  return done;
}

Result<RankPart> RankPartReader::Read(RankIndex rank) {
  if (auto done = ReadTable(); !done) return tl::unexpected(done.error());
  const auto traffic = FindSections(table_, SectionKind::kTraffic, 0, place_);
  if (!traffic) return tl::unexpected(traffic.error());
  if (!traffic->empty()) {
    return InputError(place_, "is a simulation-only plan, which has nothing to replay",
                      "compile the job with --planner optimal");
  }
  codec::RankSectionContent content;
  bool is_there = false;
  if (rank >= 0) {
    const auto decode = [&](std::string_view bytes, const SectionContext& context) -> Result<void> {
      auto decoded = codec::DecodeRankSection(bytes, context, rank);
      if (!decoded) return tl::unexpected(decoded.error());
      content = std::move(*decoded);
      is_there = true;
      return {};
    };
    if (auto done = ForParts(SectionKind::kRank, rank, decode); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (!is_there) {
    return InputError(place_, fmt::format("the plan has no rank {}", rank),
                      "give a rank that the plan has; reshard-inspect lists them");
  }
  RankPart part = std::move(content.part);
  part.staging_bytes = StagingBytes(part.schedule);
  const ClassesOfSchedule classes = ClassesOf(part.schedule, part.columns);
  Result<void> done = ReadLayout(part.record.source_layout, classes.read, part.source_parameters,
                                 part.source_conversions, part.source_programs);
  std::vector<Conversion> none;  // a destination layout has none, or the verifier says so
  if (done) {
    done = ReadLayout(part.record.destination_layout, classes.written, part.destination_parameters,
                      none, part.destination_programs);
  }
  if (!done) return tl::unexpected(done.error());
  for (const auto& [source, destination] : content.in_place) {
    if (source < 0 || source >= static_cast<ParameterIndex>(part.source_parameters.size()) ||
        destination < 0 ||
        destination >= static_cast<ParameterIndex>(part.destination_parameters.size())) {
      return InputError(place_,
                        fmt::format("rank {}: an in-place pair of parameters it lacks", rank),
                        "write the plan again with reshard-compile");
    }
    part.in_place.push_back(
        {part.source_parameters[static_cast<std::size_t>(source)].name,
         part.destination_parameters[static_cast<std::size_t>(destination)].name});
  }
  return part;
}

Result<Plan> RankPartReader::ReadHeader() {
  if (auto done = ReadTable(); !done) return tl::unexpected(done.error());
  Plan header;
  const auto decode = [&header](std::string_view bytes, const SectionContext& context) {
    return codec::DecodeHeader(bytes, context, header);
  };
  if (auto done = ForParts(SectionKind::kHeader, 0, decode); !done) {
    return tl::unexpected(done.error());
  }
  return header;
}

// Writes all of `bytes` to a new file and gives it its name once they are on the disk.
Result<void> WriteWhole(const std::string& bytes, const std::string& path) {
  const auto fail = [&path](int error) {
    return InputError(path, std::string("cannot write the plan: ") + std::strerror(error),
                      "check the folder, its permissions and the space left");
  };
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return fail(errno);
  int error = 0;
  std::size_t done = 0;
  while (error == 0 && done < bytes.size()) {
    const ssize_t put = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (put >= 0) {
      done += static_cast<std::size_t>(put);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  // mkstemp makes files that their owner alone may read; a plan is read by all ranks.
  if (error == 0 && fchmod(descriptor, 0644) != 0) error = errno;
  if (error == 0 && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return fail(error);
}

}  // namespace

Result<std::int64_t> WritePlanFile(const Plan& plan, const std::string& path) {
  const auto bytes = EncodePlan(plan);
  if (!bytes) return tl::unexpected(bytes.error());
  if (auto done = WriteWhole(*bytes, path); !done) return tl::unexpected(done.error());
  return static_cast<std::int64_t>(bytes->size());
}

Result<Plan> ReadPlanFile(const std::string& path) {
  InputFile file;
  if (auto done = file.Open(path); !done) return tl::unexpected(done.error());
  // A file of another kind is refused by its head, before it is read whole.
  const auto head = file.Read(0, kContainerHeadBytes);
  if (!head) return tl::unexpected(head.error());
  if (const auto read = ReadContainerHead(*head, file.size(), kPlanSchemaVersion, path); !read) {
    return tl::unexpected(read.error());
  }
  const auto bytes = file.Read(0, file.size());
  if (!bytes) return tl::unexpected(bytes.error());
  return DecodePlan(*bytes, path);
}

Result<ChannelHints> ReadChannelHints(const std::string& path) {
  InputFile file;
  if (auto done = file.Open(path); !done) return tl::unexpected(done.error());
  return RankPartReader(file, path).ReadHeader().map([](const Plan& header) {
    return header.channels;
  });
}

Result<RankPart> ReadRankPart(const std::string& path, RankIndex rank) {
  InputFile file;
  if (auto done = file.Open(path); !done) return tl::unexpected(done.error());
  return RankPartReader(file, path).Read(rank);
}

}  // namespace reshard
