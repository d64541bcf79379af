#include "runtime/stream_window.h"

#include <algorithm>
#include <optional>
#include <string>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// The dims of one box end from the inside out, the run as the innermost with stride 1.
class InsideOut {
 public:
  explicit InsideOut(const BoxEnd& end) : dims_(end.dims), count_(end.run) { SkipSingles(); }

  bool done() const { return count_ == 1 && dims_.empty(); }
  std::int64_t count() const { return count_; }
  std::int64_t stride() const { return stride_; }

  // Takes the inner `part` of the current dim; part divides count().
  void Take(std::int64_t part) {
    count_ /= part;
    stride_ *= part;
    SkipSingles();
  }

 private:
  void SkipSingles() {
    while (count_ == 1 && !dims_.empty()) {
      count_ = dims_.back().count;
      stride_ = dims_.back().stride;
      dims_ = dims_.first(dims_.size() - 1);
    }
  }

  std::span<const CopyDim> dims_;
  std::int64_t count_ = 1;
  std::int64_t stride_ = 1;
};

// Dims that both ends can be walked by, outermost first; the innermost counts single bytes. Both
// ends are collapsed forms of one fragment's extents, that is, their counts are products of runs of
// the same factors, so the smaller current count always divides the larger one.
std::optional<std::vector<StridedDim>> CommonDims(const BoxEnd& source, const BoxEnd& destination) {
  std::vector<StridedDim> dims;
  InsideOut from(source);
  InsideOut to(destination);
  while (!from.done() && !to.done()) {
    const std::int64_t part = std::min(from.count(), to.count());
    if (from.count() % part != 0 || to.count() % part != 0) return std::nullopt;
    dims.push_back({part, from.stride(), to.stride()});
    from.Take(part);
    to.Take(part);
  }
  if (!from.done() || !to.done()) return std::nullopt;
  std::reverse(dims.begin(), dims.end());
  return dims;
}

// Splits bytes [begin, end) of the box given by `dims` into boxes. inner_bytes[d]: bytes of one
// index of dim d.
class WindowSplitter {
 public:
  WindowSplitter(BaseIndex source_base, BaseIndex destination_base,
                 std::span<const StridedDim> dims, CopyTable& table)
      : source_base_(source_base),
        destination_base_(destination_base),
        dims_(dims),
        inner_bytes_(dims.size(), 1),
        table_(table) {
    for (std::size_t d = dims.size(); d-- > 1;) {
      inner_bytes_[d - 1] = inner_bytes_[d] * dims[d].count;
    }
  }

  void Split(std::size_t dim, std::int64_t begin, std::int64_t end, std::int64_t source,
             std::int64_t destination) {
    if (begin == end) return;
    if (dim == dims_.size()) return Add(dim, 1, source, destination);  // a box of one byte
    const std::int64_t inner = inner_bytes_[dim];
    const auto partial = [&](std::int64_t index, std::int64_t from, std::int64_t to) {
      Split(dim + 1, from, to, source + index * dims_[dim].source_stride,
            destination + index * dims_[dim].destination_stride);
    };
    std::int64_t first = begin / inner;
    const std::int64_t last = end / inner;
    const std::int64_t head = begin % inner;
    if (first == last) return partial(first, head, end % inner);
    if (head != 0) partial(first++, head, inner);
    if (first < last) {
      Add(dim, last - first, source + first * dims_[dim].source_stride,
          destination + first * dims_[dim].destination_stride);
    }
    partial(last, 0, end % inner);
  }

 private:
  // A full box of dims from `dim` on, with `count` indices in the first of them.
  void Add(std::size_t dim, std::int64_t count, std::int64_t source, std::int64_t destination) {
    std::vector<StridedDim> rest(dims_.begin() + static_cast<std::ptrdiff_t>(dim), dims_.end());
    if (!rest.empty()) rest.front().count = count;
    table_.Add({source_base_, destination_base_, source, destination, 1, rest});
  }

  BaseIndex source_base_;
  BaseIndex destination_base_;
  std::span<const StridedDim> dims_;
  std::vector<std::int64_t> inner_bytes_;
  CopyTable& table_;
};

// Bytes of an entry, or nothing if it is no box whose offsets fit 64 bits.
std::optional<std::int64_t> EntryBytes(const CopyEntry& entry) {
  if (entry.offset < 0 || entry.run < 0) return std::nullopt;
  std::optional<std::int64_t> bytes = entry.run;
  std::optional<std::int64_t> reach = CheckedAdd(entry.offset, entry.run);
  for (const CopyDim& dim : entry.dims) {
    if (dim.count < 0 || dim.stride < 0) return std::nullopt;
    bytes = CheckedMultiply(*bytes, dim.count);
    const std::optional<std::int64_t> span = CheckedMultiply(dim.count, dim.stride);
    if (!bytes || !reach || !span) return std::nullopt;
    reach = CheckedAdd(*reach, *span);
  }
  return reach ? bytes : std::nullopt;
}

// Calls visit(entry index, part of the entry's bytes, stream bytes of the entry) for each entry
// that `window` meets, in stream order.
template <typename Visit>
void ForEachEntry(const ProgramStream& stream, ByteRange window, const Visit& visit) {
  if (window.size() == 0) return;
  for (std::int64_t i = stream.EntryAt(window.begin); i < stream.size(); ++i) {
    const ByteRange entry = stream.EntryRange(i);
    if (entry.begin >= window.end) break;
    const ByteRange part = {std::max(window.begin, entry.begin) - entry.begin,
                            std::min(window.end, entry.end) - entry.begin};
    if (part.size() > 0) visit(i, part, entry);
  }
}

}  // namespace

bool AddBoxWindow(const BoxEnd& source, const BoxEnd& destination, ByteRange window,
                  CopyTable& table) {
  const std::optional<std::vector<StridedDim>> dims = CommonDims(source, destination);
  if (!dims) return false;
  WindowSplitter(source.base, destination.base, *dims, table)
      .Split(0, window.begin, window.end, source.offset, destination.offset);
  return true;
}

Result<ProgramStream> ProgramStream::Make(const CopyProgram& program,
                                          std::int64_t parameter_count) {
  ProgramStream stream;
  stream.program_ = &program;
  stream.begins_.reserve(static_cast<std::size_t>(program.size()) + 1);
  stream.begins_.push_back(0);
  for (std::int64_t i = 0; i < program.size(); ++i) {
    const CopyEntry entry = program[i];
    const std::string place = "copy program of class " + std::to_string(program.demand_class) +
                              ", entry " + std::to_string(i);
    if (entry.parameter < 0 || entry.parameter >= parameter_count) {
      return InputError(place, "parameter " + std::to_string(entry.parameter) + " does not exist");
    }
    const std::optional<std::int64_t> bytes = EntryBytes(entry);
    const std::optional<std::int64_t> end =
        bytes ? CheckedAdd(stream.begins_.back(), *bytes) : std::nullopt;
    if (!end) return InputError(place, "is no box of bytes");
    stream.begins_.push_back(*end);
  }
  return stream;
}

std::int64_t ProgramStream::EntryAt(std::int64_t position) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), position);
  return static_cast<std::int64_t>(after - begins_.begin()) - 1;
}

void AddPack(const ProgramStream& source, BaseIndex first_base, ByteRange window, BaseIndex staging,
             std::int64_t offset, CopyTable& table) {
  ForEachEntry(source, window, [&](std::int64_t index, ByteRange part, ByteRange entry) {
    // The whole entry's place in staging; it may begin before the window does.
    const BoxEnd packed = {staging, offset + entry.begin - window.begin, entry.size(), {}};
    AddBoxWindow(source.Entry(index, first_base), packed, part, table);
  });
}

void AddZeros(const ProgramStream& destination, BaseIndex first_base, CopyTable& table) {
  std::vector<StridedDim> dims;
  for (std::int64_t i = 0; i < destination.size(); ++i) {
    const BoxEnd entry = destination.Entry(i, first_base);
    dims.clear();
    for (const CopyDim& dim : entry.dims) dims.push_back({dim.count, dim.stride, dim.stride});
    table.Add(ZeroFill(entry.base, entry.offset, entry.run, dims));
  }
}

void AddUnpack(const ProgramStream& destination, BaseIndex first_base, ByteRange window,
               BaseIndex staging, std::int64_t offset, CopyTable& table) {
  ForEachEntry(destination, window, [&](std::int64_t index, ByteRange part, ByteRange entry) {
    const BoxEnd packed = {staging, offset + entry.begin - window.begin, entry.size(), {}};
    AddBoxWindow(packed, destination.Entry(index, first_base), part, table);
  });
}

Result<void> AddMove(const ProgramStream& source, BaseIndex first_source_base,
                     const ProgramStream& destination, BaseIndex first_destination_base,
                     ByteRange window, CopyTable& table) {
  bool agree = source.size() == destination.size();
  if (agree) {
    ForEachEntry(source, window, [&](std::int64_t index, ByteRange part, ByteRange entry) {
      agree = agree && destination.EntryRange(index) == entry &&
              AddBoxWindow(source.Entry(index, first_source_base),
                           destination.Entry(index, first_destination_base), part, table);
    });
  }
  if (!agree) {
    return InputError("class " + std::to_string(source.demand_class()),
                      "source and destination programs do not describe the same fragments");
  }
  return {};
}

}  // namespace reshard
