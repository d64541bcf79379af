// Where the bytes of a class lie in the parameters of a layout.
//
// A copy program has one entry per fragment of its class, in class order: entry i says where the
// bytes of fragment i, in stream order, lie. Every step of a lane is a window [begin, end) of the
// class's stream run through the program of the rank's layout: that way the programs are stored
// once per layout (replicas share them) and rounds do not multiply them.
//
// A destination layout that has the bytes at several places has a program for each: every one of
// them is written. What is read comes from the first. A program of kZeroClass has one entry per
// region of RankLayout::zeros, in their order; its stream is zero bytes, which nobody sends.
//
// Bytes of an entry: for dims d (outermost first), index i_d in [0, count_d): a run of `run` bytes
// at
//   offset + sum_d i_d * stride_d
// of the parameter; runs follow each other in the stream in row-major order of (i_0, i_1, ..).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/demand.h"
#include "schedules/region_table.h"

namespace reshard {

inline constexpr ClassIndex kZeroClass = -1;

struct CopyDim {
  std::int64_t count = 0;
  std::int64_t stride = 0;  // bytes in the parameter
  bool operator==(const CopyDim&) const = default;
};

struct CopyEntry {
  ParameterIndex parameter = 0;
  std::int64_t offset = 0;  // bytes into the parameter
  std::int64_t run = 0;     // contiguous bytes
  std::span<const CopyDim> dims;

  std::int64_t bytes() const {
    std::int64_t total = run;
    for (const CopyDim& dim : dims) total *= dim.count;
    return total;
  }
};

class CopyProgram {
 public:
  LayoutIndex layout = kNoLayout;
  ClassIndex demand_class = 0;

  void Add(ParameterIndex parameter, std::int64_t offset, std::int64_t run,
           std::span<const CopyDim> dims) {
    rows_.push_back({offset, run, static_cast<std::int64_t>(pool_.size()), parameter,
                     static_cast<std::int32_t>(dims.size())});
    pool_.insert(pool_.end(), dims.begin(), dims.end());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  CopyEntry operator[](std::int64_t index) const {
    const Row& row = rows_[static_cast<std::size_t>(index)];
    return {row.parameter, row.offset, row.run,
            std::span(pool_).subspan(static_cast<std::size_t>(row.pool),
                                     static_cast<std::size_t>(row.dims))};
  }
  std::int64_t bytes() const {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < size(); ++i) total += (*this)[i].bytes();
    return total;
  }
  bool operator==(const CopyProgram&) const = default;

 private:
  struct Row {
    std::int64_t offset;
    std::int64_t run;
    std::int64_t pool;
    ParameterIndex parameter;
    std::int32_t dims;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows_;
  std::vector<CopyDim> pool_;
};

// The entry of one fragment in one region that contains it: dims collapsed where they follow each
// other in memory, the innermost contiguous ones merged into the run.
void AppendEntry(const Fragment& fragment, const Region& region, std::int64_t element_bytes,
                 CopyProgram& program);

// The programs of a class in a layout, one per place, among `programs` sorted by (layout, class);
// empty if there is none.
std::span<const CopyProgram> FindPrograms(std::span<const CopyProgram> programs, LayoutIndex layout,
                                          ClassIndex demand_class);

}  // namespace reshard
