#include <algorithm>
#include <vector>

#include "compiler/demand_builder.h"

namespace reshard {
namespace {

bool Contains(const Region& region, const Fragment& fragment) {
  for (std::size_t k = 0; k < fragment.begin.size(); ++k) {
    if (fragment.begin[k] < region.begin[k] ||
        fragment.begin[k] + fragment.extent[k] > region.begin[k] + region.extent[k]) {
      return false;
    }
  }
  return true;
}

// Finds the region of a layout that a fragment lies in. Fragments come in nearly the order of
// regions, so the search starts where the last one ended.
class RegionFinder {
 public:
  explicit RegionFinder(const RegionTable& regions) : regions_(regions) {}

  Region Find(const Fragment& fragment) {
    if (last_ >= regions_.size() || regions_[last_].tensor != fragment.tensor) {
      last_ = LowerBound(fragment.tensor);
    }
    for (std::int64_t i = last_;; ++i) {
      if (i >= regions_.size() || regions_[i].tensor != fragment.tensor) {
        i = LowerBound(fragment.tensor);  // wrap around: it is there, by how fragments are made
      }
      if (Contains(regions_[i], fragment)) {
        last_ = i;
        return regions_[i];
      }
    }
  }

 private:
  std::int64_t LowerBound(TensorIndex tensor) const {
    std::int64_t low = 0;
    std::int64_t high = regions_.size();
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (regions_[middle].tensor < tensor) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  const RegionTable& regions_;
  std::int64_t last_ = 0;
};

// The layouts of the ranks of a set on one side, ascending.
std::vector<LayoutIndex> LayoutsOf(const JobRecords& job, std::span<const RankIndex> ranks,
                                   bool destination) {
  std::vector<LayoutIndex> layouts;
  for (const RankIndex rank : ranks) {
    const Rank& record = job.ranks[static_cast<std::size_t>(rank)];
    layouts.push_back(destination ? record.destination_layout : record.source_layout);
  }
  std::sort(layouts.begin(), layouts.end());
  layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
  return layouts;
}

}  // namespace

std::vector<CopyProgram> BuildPrograms(const JobRecords& job, const Demand& demand) {
  std::vector<CopyProgram> programs;
  for (std::size_t c = 0; c < demand.classes.size(); ++c) {
    const DemandClass& record = demand.classes[c];
    std::vector<LayoutIndex> layouts = LayoutsOf(job, demand.Holders(record), false);
    const std::vector<LayoutIndex> needers = LayoutsOf(job, demand.Needers(record), true);
    layouts.insert(layouts.end(), needers.begin(), needers.end());
    std::sort(layouts.begin(), layouts.end());
    layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
    for (const LayoutIndex layout : layouts) {
      CopyProgram program;
      program.layout = layout;
      program.demand_class = static_cast<ClassIndex>(c);
      RegionFinder finder(job.layouts[static_cast<std::size_t>(layout)].regions);
      for (std::int64_t f = 0; f < record.fragment_count; ++f) {
        const Fragment fragment = demand.fragments[record.first_fragment + f];
        const DType dtype = job.tensors[static_cast<std::size_t>(fragment.tensor)].dtype;
        AppendEntry(fragment, finder.Find(fragment), ElementBytes(dtype), program);
      }
      programs.push_back(std::move(program));
    }
  }
  std::stable_sort(programs.begin(), programs.end(),
                   [](const CopyProgram& a, const CopyProgram& b) { return a.layout < b.layout; });
  return programs;
}

}  // namespace reshard
