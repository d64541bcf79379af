#include "compiler/layout/region_overlap.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// count elements, `step` apart; count > 1.
struct Dim {
  std::int64_t count = 1;
  std::int64_t step = 1;
};

// The elements of a region, or a part of them, on the line of the parameter's elements.
struct Comb {
  std::int64_t region = 0;
  std::int64_t offset = 0;
  std::vector<Dim> dims;  // descending by step, nested

  std::int64_t Reach(std::size_t from = 0) const {  // from the first to the last element
    std::int64_t reach = 0;
    for (std::size_t d = from; d < dims.size(); ++d) reach += (dims[d].count - 1) * dims[d].step;
    return reach;
  }
};

Comb CombOf(std::int64_t index, const Region& region) {
  Comb comb{index, region.offset, {}};
  for (std::size_t d = 0; d < region.extent.size(); ++d) {
    if (region.extent[d] > 1) comb.dims.push_back({region.extent[d], region.stride[d]});
  }
  std::sort(comb.dims.begin(), comb.dims.end(),
            [](const Dim& a, const Dim& b) { return a.step > b.step; });
  return comb;
}

// From the first to the last element of a region.
struct Span {
  ParameterIndex parameter = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t region = 0;
};

// A comb seen in rows of some length: the same elements, its offset below the length, in each of
// `rows` rows from `first_row` on.
struct RowComb {
  std::int64_t first_row = 0;
  std::int64_t rows = 1;
  Comb comb;
};

// Sorting and sweeping, not all pairs: combs whose spans touch are seen in rows of the largest step
// among them; rows that the same combs meet in are all alike, so one of them is searched.
class Search {
 public:
  // False when the effort is spent.
  bool Run(std::vector<Comb> combs) {
    budget_ -= static_cast<std::int64_t>(combs.size());
    if (budget_ < 0) return false;
    std::sort(combs.begin(), combs.end(), [](const Comb& a, const Comb& b) {
      return std::pair(a.offset, a.region) < std::pair(b.offset, b.region);
    });
    for (std::size_t begin = 0; begin < combs.size() && !found_;) {
      std::int64_t last = combs[begin].offset + combs[begin].Reach();
      std::size_t end = begin + 1;
      for (; end < combs.size() && combs[end].offset <= last; ++end) {
        last = std::max(last, combs[end].offset + combs[end].Reach());
      }
      if (end - begin > 1 && !RunTouching({combs.begin() + static_cast<std::ptrdiff_t>(begin),
                                           combs.begin() + static_cast<std::ptrdiff_t>(end)})) {
        return false;
      }
      begin = end;
    }
    return true;
  }

  const std::optional<RegionOverlap>& found() const { return found_; }

 private:
  bool RunTouching(std::vector<Comb> combs) {
    std::int64_t row = 0;
    for (const Comb& comb : combs) {
      if (!comb.dims.empty()) row = std::max(row, comb.dims.front().step);
    }
    if (row <= 1) {  // runs without holes that touch
      found_ = RegionOverlap{std::min(combs[0].region, combs[1].region),
                             std::max(combs[0].region, combs[1].region)};
      return true;
    }
    std::vector<RowComb> in_rows;
    for (Comb& comb : combs) {
      if (!SplitIntoRows(std::move(comb), row, in_rows)) return false;
    }
    std::vector<std::int64_t> cuts;
    for (const RowComb& comb : in_rows) {
      cuts.push_back(comb.first_row);
      cuts.push_back(comb.first_row + comb.rows);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::sort(in_rows.begin(), in_rows.end(), [](const RowComb& a, const RowComb& b) {
      return std::pair(a.first_row, a.comb.region) < std::pair(b.first_row, b.comb.region);
    });
    std::vector<const RowComb*> active;
    std::size_t next = 0;
    for (const std::int64_t cut : cuts) {
      std::erase_if(active, [&](const RowComb* c) { return c->first_row + c->rows <= cut; });
      while (next < in_rows.size() && in_rows[next].first_row == cut) {
        active.push_back(&in_rows[next++]);
      }
      if (active.size() < 2) continue;
      std::vector<Comb> meeting;
      for (const RowComb* comb : active) meeting.push_back(comb->comb);
      if (!Run(std::move(meeting))) return false;
      if (found_) return true;
    }
    return true;
  }

  // Appends `comb` seen in rows of `row` elements; no step of it is larger than `row`.
  bool SplitIntoRows(Comb comb, std::int64_t row, std::vector<RowComb>& in_rows) {
    while (true) {
      if (--budget_ < 0) return false;
      const bool has_row_step = !comb.dims.empty() && comb.dims.front().step == row;
      const std::size_t inner = has_row_step ? 1 : 0;
      const std::int64_t phase = comb.offset % row;
      if (phase + comb.Reach(inner) < row) {
        RowComb part{comb.offset / row, has_row_step ? comb.dims.front().count : 1, comb};
        part.comb.offset = phase;
        part.comb.dims.erase(part.comb.dims.begin(),
                             part.comb.dims.begin() + static_cast<std::ptrdiff_t>(inner));
        in_rows.push_back(std::move(part));
        return true;
      }
      // The inner dim of largest step crosses the end of a row: take off the iterations that end in
      // this row, then those that straddle, and go on with what starts in a later one.
      const Dim dim = comb.dims[inner];
      const std::int64_t rest = comb.Reach(inner + 1);
      const std::int64_t starting = std::min(dim.count, CeilDivide(row - phase, dim.step));
      const std::int64_t ending =
          rest >= row - phase ? 0 : std::min(dim.count, CeilDivide(row - phase - rest, dim.step));
      const auto take = [&](std::int64_t begin, std::int64_t count) {
        Comb part = comb;
        part.offset += begin * dim.step;
        part.dims[inner].count = count;
        if (count == 1) part.dims.erase(part.dims.begin() + static_cast<std::ptrdiff_t>(inner));
        return part;
      };
      std::int64_t done = starting;
      if (!has_row_step && row % dim.step == 0 && starting == row / dim.step &&
          ending == starting) {
        // Whole rows repeat: they are one comb in several rows.
        const std::int64_t rows = dim.count / starting;
        RowComb part{comb.offset / row, rows, take(0, starting)};
        part.comb.offset = phase;
        in_rows.push_back(std::move(part));
        done = starting * rows;
      } else {
        if (ending > 0 && !SplitIntoRows(take(0, ending), row, in_rows)) return false;
        for (std::int64_t i = ending; i < starting; ++i) {
          if (!SplitIntoRows(take(i, 1), row, in_rows)) return false;
        }
      }
      if (done == dim.count) return true;
      comb = take(done, dim.count - done);
    }
  }

  std::int64_t budget_ = std::int64_t{1} << 26;
  std::optional<RegionOverlap> found_;
};

}  // namespace

bool NestedStrides(const Region& region) {
  const Comb comb = CombOf(0, region);
  std::int64_t reach = 0;
  for (std::size_t d = comb.dims.size(); d-- > 0;) {
    if (comb.dims[d].step <= reach) return false;
    reach += (comb.dims[d].count - 1) * comb.dims[d].step;
  }
  return true;
}

Result<std::optional<RegionOverlap>> FindOverlap(const RankLayout& layout) {
  const std::int64_t count = layout.regions.size() + layout.zeros.size();
  const auto region_at = [&layout](std::int64_t r) {
    const std::int64_t regions = layout.regions.size();
    return r < regions ? layout.regions[r] : layout.zeros[r - regions];
  };
  std::vector<Span> spans;
  spans.reserve(static_cast<std::size_t>(count));
  for (std::int64_t r = 0; r < count; ++r) {
    const Region region = region_at(r);
    std::int64_t last = region.offset;
    for (std::size_t d = 0; d < region.extent.size(); ++d) {
      last += (region.extent[d] - 1) * region.stride[d];
    }
    spans.push_back({region.parameter, region.offset, last, r});
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.parameter, a.first, a.region) < std::tie(b.parameter, b.first, b.region);
  });
  // Only regions whose spans touch can overlap; most lie one behind the other.
  for (std::size_t begin = 0; begin < spans.size();) {
    std::int64_t last = spans[begin].last;
    std::size_t end = begin + 1;
    while (end < spans.size() && spans[end].parameter == spans[begin].parameter &&
           spans[end].first <= last) {
      last = std::max(last, spans[end++].last);
    }
    if (end - begin > 1) {
      std::vector<Comb> combs;
      for (std::size_t i = begin; i < end; ++i) {
        combs.push_back(CombOf(spans[i].region, region_at(spans[i].region)));
      }
      Search search;
      if (!search.Run(std::move(combs))) {
        return InputError(layout.parameters[static_cast<std::size_t>(spans[begin].parameter)].name,
                          "its regions are too irregular to prove that none overlap",
                          "describe them with fewer different strides");
      }
      if (search.found()) return search.found();
    }
    begin = end;
  }
  return std::optional<RegionOverlap>();
}

}  // namespace reshard
