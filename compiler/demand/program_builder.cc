#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/demand/demand_builder.h"

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

// Finds the regions of a layout that a fragment lies in. Fragments come in nearly the order of
// regions, so the search starts where the last one ended.
class RegionFinder {
 public:
  explicit RegionFinder(const RegionTable& regions) : regions_(regions) {}

  // All that contain it, in the layout's order.
  std::vector<std::int64_t> FindAll(const Fragment& fragment) const {
    std::vector<std::int64_t> found;
    for (std::int64_t i = LowerBound(fragment.tensor);
         i < regions_.size() && regions_[i].tensor == fragment.tensor; ++i) {
      if (Contains(regions_[i], fragment)) found.push_back(i);
    }
    return found;
  }

  // Any one that contains it.
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

CopyProgram EmptyProgram(LayoutIndex layout, ClassIndex demand_class) {
  CopyProgram program;
  program.layout = layout;
  program.demand_class = demand_class;
  return program;
}

class ProgramBuilder {
 public:
  ProgramBuilder(const JobRecords& job, const Demand& demand) : job_(job), demand_(demand) {}

  // The programs of one class in one layout, which needs it or only holds it.
  void Append(ClassIndex demand_class, LayoutIndex layout, bool needs,
              std::vector<CopyProgram>& programs) const {
    const DemandClass& record = demand_.classes[static_cast<std::size_t>(demand_class)];
    const auto fragment_at = [&](std::int64_t f) {
      return demand_.fragments[record.first_fragment + f];
    };
    const RankLayout& held = job_.layouts[static_cast<std::size_t>(layout)];
    RegionFinder finder(held.regions);
    // Equal for all fragments of a class.
    const std::size_t places = needs ? finder.FindAll(fragment_at(0)).size() : 1;
    // Where parameters share memory, the first place of the source is the one that classes are cut
    // by (demand_builder.cc).
    const bool any_place = places == 1 && (needs || job_.in_place.empty());
    const std::size_t first = programs.size();
    programs.resize(first + places, EmptyProgram(layout, demand_class));
    for (std::int64_t f = 0; f < record.fragment_count; ++f) {
      const Fragment fragment = fragment_at(f);
      if (any_place) {
        Add(fragment, finder.Find(fragment), programs[first]);
        continue;
      }
      std::vector<std::int64_t> regions = finder.FindAll(fragment);
      std::ranges::sort(regions, [&](std::int64_t a, std::int64_t b) {
        return IsPlaceBefore(job_, held, held.regions[a], held.regions[b]);
      });
      for (std::size_t p = 0; p < places; ++p) {
        Add(fragment, held.regions[regions[p]], programs[first + p]);
      }
    }
  }

  // The program of a layout's zeros.
  CopyProgram Zeros(LayoutIndex index) const {
    const RankLayout& layout = job_.layouts[static_cast<std::size_t>(index)];
    CopyProgram program = EmptyProgram(index, kZeroClass);
    for (std::int64_t i = 0; i < layout.zeros.size(); ++i) {
      const Region region = layout.zeros[i];
      const DType dtype = layout.parameters[static_cast<std::size_t>(region.parameter)].dtype;
      AppendEntry({kZeroTensor, 0, region.begin, region.extent}, region, ElementBytes(dtype),
                  program);
    }
    return program;
  }

 private:
  void Add(const Fragment& fragment, const Region& region, CopyProgram& program) const {
    const DType dtype = job_.tensors[static_cast<std::size_t>(fragment.tensor)].dtype;
    AppendEntry(fragment, region, ElementBytes(dtype), program);
  }

  const JobRecords& job_;
  const Demand& demand_;
};

std::vector<RankIndex> AllRanksOfDestination(const JobRecords& job) {
  std::vector<RankIndex> ranks;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (job.ranks[r].destination_layout != kNoLayout) ranks.push_back(static_cast<RankIndex>(r));
  }
  return ranks;
}

}  // namespace

bool IsPlaceBefore(const JobRecords& job, const RankLayout& layout, const Region& a,
                   const Region& b) {
  const auto key = [&](const Region& region) {
    const std::string& name = layout.parameters[static_cast<std::size_t>(region.parameter)].name;
    const bool shares =
        std::ranges::find(job.in_place, name, &InPlacePair::source_parameter) != job.in_place.end();
    return std::tuple(!shares, region.parameter, region.offset);
  };
  return key(a) < key(b);
}

std::vector<CopyProgram> BuildPrograms(const JobRecords& job, const Demand& demand) {
  const ProgramBuilder builder(job, demand);
  std::vector<CopyProgram> programs;
  for (const LayoutIndex layout : LayoutsOf(job, AllRanksOfDestination(job), true)) {
    if (job.layouts[static_cast<std::size_t>(layout)].zeros.empty()) continue;
    programs.push_back(builder.Zeros(layout));
  }
  for (std::size_t c = 0; c < demand.classes.size(); ++c) {
    const DemandClass& record = demand.classes[c];
    std::vector<LayoutIndex> layouts = LayoutsOf(job, demand.Holders(record), false);
    const std::vector<LayoutIndex> needers = LayoutsOf(job, demand.Needers(record), true);
    layouts.insert(layouts.end(), needers.begin(), needers.end());
    std::sort(layouts.begin(), layouts.end());
    layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
    for (const LayoutIndex layout : layouts) {
      builder.Append(static_cast<ClassIndex>(c), layout,
                     std::ranges::binary_search(needers, layout), programs);
    }
  }
  std::stable_sort(programs.begin(), programs.end(),
                   [](const CopyProgram& a, const CopyProgram& b) { return a.layout < b.layout; });
  return programs;
}

}  // namespace reshard
