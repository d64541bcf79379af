// What must move: fragments, and the classes they form.
//
// A fragment is a box of one logical tensor with one set of holders and one set of needers; it lies
// inside one region of every layout that has it (a cut point of any layout cuts it, where that
// layout's regions do not continue each other), so a copy program has one strided box per fragment.
// Where a layout has the bytes at several places, it lies inside one region for each. A class is
// all fragments of equal holders and equal needers that each needer has at equally many places; it
// is counted once for a rank, however many places the rank writes it to.
//
// The byte stream of a class is its fragments one after another in class order, each in row-major
// order of the logical tensor. "Bytes [a, b) of class c" always means that stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

using ClassIndex = std::int32_t;
using RankSetIndex = std::int32_t;

struct Fragment {
  TensorIndex tensor = 0;
  std::int64_t bytes = 0;
  std::span<const std::int64_t> begin;
  std::span<const std::int64_t> extent;
};

class FragmentTable {
 public:
  void Add(TensorIndex tensor, std::int64_t bytes, std::span<const std::int64_t> begin,
           std::span<const std::int64_t> extent) {
    rows_.push_back({static_cast<std::int64_t>(pool_.size()), bytes, tensor,
                     static_cast<std::int32_t>(begin.size())});
    pool_.insert(pool_.end(), begin.begin(), begin.end());
    pool_.insert(pool_.end(), extent.begin(), extent.end());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  Fragment operator[](std::int64_t index) const {
    const Row& row = rows_[static_cast<std::size_t>(index)];
    const auto dims = static_cast<std::size_t>(row.dims);
    const std::span<const std::int64_t> pool =
        std::span(pool_).subspan(static_cast<std::size_t>(row.pool), 2 * dims);
    return {row.tensor, row.bytes, pool.first(dims), pool.subspan(dims, dims)};
  }
  bool operator==(const FragmentTable&) const = default;

 private:
  struct Row {
    std::int64_t pool;  // first of 2 * dims entries: begin, extent
    std::int64_t bytes;
    TensorIndex tensor;
    std::int32_t dims;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows_;
  std::vector<std::int64_t> pool_;
};

struct DemandClass {
  RankSetIndex holders = 0;
  RankSetIndex needers = 0;
  std::int64_t bytes = 0;
  std::int64_t first_fragment = 0;
  std::int64_t fragment_count = 0;
  bool operator==(const DemandClass&) const = default;
};

struct Demand {
  std::vector<std::vector<RankIndex>> rank_sets;  // interned, each ascending
  std::vector<DemandClass> classes;
  FragmentTable fragments;  // class by class
  bool operator==(const Demand&) const = default;

  std::span<const RankIndex> Holders(const DemandClass& c) const {
    return rank_sets[static_cast<std::size_t>(c.holders)];
  }
  std::span<const RankIndex> Needers(const DemandClass& c) const {
    return rank_sets[static_cast<std::size_t>(c.needers)];
  }
};

}  // namespace reshard
