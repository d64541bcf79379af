#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/address_map.h"
#include "schedules/box_set.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

constexpr std::int64_t kMaxDemandBytes = std::int64_t{1} << 60;

// A source may hold an element several times (tied weights in parameters of their own), but a file
// in which thousands of regions hold every element only keeps the verifier busy.
constexpr int kMaxCopies = 64;

// Bytes of an entry; nothing where a count is not positive or they do not fit.
std::optional<std::int64_t> EntryBytes(const CopyEntry& entry) {
  std::optional<std::int64_t> bytes = entry.run;
  bool is_positive = entry.run > 0;
  for (const CopyDim& dim : entry.dims) {
    is_positive = is_positive && dim.count > 0;
    if (bytes) bytes = CheckedMultiply(*bytes, dim.count);
  }
  return is_positive ? bytes : std::nullopt;
}

// How a layout takes part in a class.
struct Relation {
  LayoutIndex layout = 0;
  ClassIndex demand_class = 0;
  bool needs = false;
};

Result<void> CheckFragments(const Plan& plan) {
  std::int64_t total = 0;
  for (std::size_t c = 0; c < plan.demand.classes.size(); ++c) {
    const DemandClass& demand_class = plan.demand.classes[c];
    std::int64_t sum = 0;
    const std::int64_t last = demand_class.first_fragment + demand_class.fragment_count;
    for (std::int64_t i = demand_class.first_fragment; i < last; ++i) {
      const Fragment fragment = plan.demand.fragments[i];
      const Tensor& tensor = plan.job.tensors[static_cast<std::size_t>(fragment.tensor)];
      std::int64_t bytes = ElementBytes(tensor.dtype);
      bool is_inside = true;
      for (std::size_t k = 0; k < fragment.extent.size() && is_inside; ++k) {
        is_inside = fragment.begin[k] >= 0 && fragment.extent[k] >= 1 &&
                    fragment.extent[k] <= tensor.shape[k] - fragment.begin[k];
        if (is_inside) bytes *= fragment.extent[k];
      }
      if (!is_inside || bytes != fragment.bytes) {
        return Broken(1, fmt::format("class {}, fragment {}", c, i),
                      is_inside ? fmt::format("it has {} bytes, not {}", bytes, fragment.bytes)
                                : fmt::format("it is not inside tensor \"{}\"", tensor.name));
      }
      sum += bytes;
      total += bytes;
      if (total > kMaxDemandBytes) return Broken(1, "demand", "it has more than 2^60 bytes");
    }
    if (sum != demand_class.bytes) {
      return Broken(1, fmt::format("class {}", c),
                    fmt::format("its fragments have {} bytes, not {}", sum, demand_class.bytes));
    }
  }
  return {};
}

// The layouts of the ranks of every set, each with the number of its ranks there.
using LayoutCounts = std::map<LayoutIndex, std::int64_t>;

LayoutCounts CountLayouts(const std::vector<RankIndex>& ranks, const std::vector<Rank>& records,
                          LayoutIndex Rank::*side) {
  LayoutCounts counts;
  for (const RankIndex rank : ranks) ++counts[records[static_cast<std::size_t>(rank)].*side];
  return counts;
}

// Which layouts must hold and need which classes, by the rank sets; ascending.
Result<std::vector<Relation>> RelationsOf(const Plan& plan) {
  const std::vector<Rank>& ranks = plan.job.ranks;
  LayoutCounts all;
  for (const Rank& rank : ranks) ++all[rank.destination_layout];
  std::vector<std::optional<LayoutCounts>> holding(plan.demand.rank_sets.size());
  std::vector<std::optional<LayoutCounts>> needing(plan.demand.rank_sets.size());
  const auto counts_of = [&](std::vector<std::optional<LayoutCounts>>& known, RankSetIndex set,
                             LayoutIndex Rank::*side) -> const LayoutCounts& {
    auto& counts = known[static_cast<std::size_t>(set)];
    if (!counts) {
      counts = CountLayouts(plan.demand.rank_sets[static_cast<std::size_t>(set)], ranks, side);
    }
    return *counts;
  };
  std::vector<Relation> relations;
  for (const auto& [layout, count] : all) {
    if (layout == kNoLayout) continue;
    if (!plan.job.layouts[static_cast<std::size_t>(layout)].zeros.empty()) {
      relations.push_back({layout, kZeroClass, true});
    }
  }
  for (std::size_t c = 0; c < plan.demand.classes.size(); ++c) {
    const DemandClass& demand_class = plan.demand.classes[c];
    const auto index = static_cast<ClassIndex>(c);
    for (const auto& [layout, count] :
         counts_of(holding, demand_class.holders, &Rank::source_layout)) {
      if (layout == kNoLayout) {
        return Broken(1, fmt::format("class {}", c), "a rank that is no source holds it");
      }
      relations.push_back({layout, index, false});
    }
    for (const auto& [layout, count] :
         counts_of(needing, demand_class.needers, &Rank::destination_layout)) {
      if (layout == kNoLayout) {
        return Broken(1, fmt::format("class {}", c), "a rank that is no destination needs it");
      }
      if (count != all.at(layout)) {
        return Broken(
            1, fmt::format("class {}", c),
            fmt::format("{} of {} ranks of layout {} need it", count, all.at(layout), layout));
      }
      relations.push_back({layout, index, true});
    }
  }
  // Where a layout both holds and needs a class, the row that needs comes first and stays.
  std::sort(relations.begin(), relations.end(), [](const Relation& a, const Relation& b) {
    return std::tuple(a.layout, a.demand_class, !a.needs) <
           std::tuple(b.layout, b.demand_class, !b.needs);
  });
  relations.erase(std::unique(relations.begin(), relations.end(),
                              [](const Relation& a, const Relation& b) {
                                return a.layout == b.layout && a.demand_class == b.demand_class;
                              }),
                  relations.end());
  return relations;
}

// Finds the regions of a layout that contain a box.
class RegionFinder {
 public:
  explicit RegionFinder(const RegionTable& regions) : regions_(regions) {}

  // Calls visit(region number) for regions of `tensor` that contain the box, until it returns true.
  template <typename Visitor>
  bool VisitContaining(TensorIndex tensor, std::span<const std::int64_t> begin,
                       std::span<const std::int64_t> extent, const Visitor& visit) {
    if (tensor != tensor_) Seek(tensor);
    if (last_ - first_ > kFewRegions && !begin.empty()) {
      return TreeOf(tensor).VisitContaining(begin, extent, [&](std::size_t i) {
        return visit(first_ + static_cast<std::int64_t>(i));
      });
    }
    for (std::int64_t i = first_; i < last_; ++i) {
      if (Contains(regions_[i], begin, extent) && visit(i)) return true;
    }
    return false;
  }

 private:
  static constexpr std::int64_t kFewRegions = 16;

  static bool Contains(const Region& region, std::span<const std::int64_t> begin,
                       std::span<const std::int64_t> extent) {
    for (std::size_t k = 0; k < begin.size(); ++k) {
      if (begin[k] < region.begin[k] || begin[k] + extent[k] > region.begin[k] + region.extent[k]) {
        return false;
      }
    }
    return true;
  }

  void Seek(TensorIndex tensor) {
    const auto first_from = [this](TensorIndex value) {
      std::int64_t low = 0;
      std::int64_t high = regions_.size();
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (regions_[middle].tensor < value) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    tensor_ = tensor;
    first_ = first_from(tensor);
    last_ = first_from(tensor + 1);
  }

  const BoxTree& TreeOf(TensorIndex tensor) {
    const auto found = trees_.find(tensor);
    if (found != trees_.end()) return found->second;
    BoxSet boxes(regions_[first_].begin.size());
    std::vector<std::int64_t> end;
    for (std::int64_t i = first_; i < last_; ++i) {
      const Region region = regions_[i];
      end.clear();
      for (std::size_t k = 0; k < region.begin.size(); ++k) {
        end.push_back(region.begin[k] + region.extent[k]);
      }
      boxes.Add(region.begin, end);
    }
    return trees_.emplace(tensor, BoxTree(std::move(boxes))).first->second;
  }

  const RegionTable& regions_;
  TensorIndex tensor_ = -1;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::map<TensorIndex, BoxTree> trees_;
};

// A fragment that a layout needs, and the region it is copied to.
struct Placed {
  std::int64_t region = 0;
  std::int64_t fragment = 0;
};

// Checks one layout's programs and, if ranks need it, that fragments tile its regions.
class LayoutChecker {
 public:
  LayoutChecker(const Plan& plan, LayoutIndex layout)
      : plan_(plan),
        layout_(layout),
        regions_(plan.job.layouts[static_cast<std::size_t>(layout)].regions),
        finder_(regions_) {}

  Result<void> CheckProgram(const CopyProgram& program, bool needs) {
    const DemandClass& demand_class =
        plan_.demand.classes[static_cast<std::size_t>(program.demand_class)];
    for (std::int64_t i = 0; i < program.size(); ++i) {
      const std::int64_t number = demand_class.first_fragment + i;
      const Fragment fragment = plan_.demand.fragments[number];
      const CopyEntry entry = program[i];
      const std::int64_t element_bytes =
          ElementBytes(plan_.job.tensors[static_cast<std::size_t>(fragment.tensor)].dtype);
      bool is_inside = false;
      int candidates = 0;
      const bool is_right =
          EntryBytes(entry) == fragment.bytes &&
          finder_.VisitContaining(
              fragment.tensor, fragment.begin, fragment.extent, [&](std::int64_t region) {
                is_inside = true;
                if (++candidates > kMaxCopies) return true;
                if (entry.parameter != regions_[region].parameter) return false;
                in_program_.SetEntry(entry);
                in_region_.SetFragment(fragment, regions_[region], element_bytes);
                if (in_program_ != in_region_) return false;
                if (needs) placed_.push_back({region, number});
                return true;
              });
      if (is_right && candidates <= kMaxCopies) continue;
      const std::string place =
          fmt::format("layout {}, class {}, fragment {}", layout_, program.demand_class, number);
      if (candidates > kMaxCopies) {
        return Broken(1, place, fmt::format("more than {} regions have it", kMaxCopies));
      }
      if (EntryBytes(entry) == fragment.bytes && !is_inside) {
        return Broken(1, place,
                      fmt::format("no region of the layout has it, so its ranks do not {} it",
                                  needs ? "need" : "hold"));
      }
      return Broken(1, place, "the program's entry addresses other bytes than the region has");
    }
    return {};
  }

  // The program of the layout's zeros has an entry for each of them.
  Result<void> CheckZeros(const CopyProgram& program) {
    const RankLayout& layout = plan_.job.layouts[static_cast<std::size_t>(layout_)];
    for (std::int64_t i = 0; i < program.size(); ++i) {
      const Region region = layout.zeros[i];
      const CopyEntry entry = program[i];
      const std::int64_t element_bytes =
          ElementBytes(layout.parameters[static_cast<std::size_t>(region.parameter)].dtype);
      if (EntryBytes(entry) == Volume(region.extent) * element_bytes &&
          entry.parameter == region.parameter) {
        in_program_.SetEntry(entry);
        in_region_.SetFragment({kZeroTensor, 0, region.begin, region.extent}, region,
                               element_bytes);
        if (in_program_ == in_region_) continue;
      }
      return Broken(1, fmt::format("layout {}, zeros {}", layout_, i),
                    "the program's entry addresses other bytes than are declared zero");
    }
    return {};
  }

  // Fragments are inside their regions; so if they are disjoint and as large together, they tile
  // them.
  Result<void> CheckTiling() {
    std::sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
      return std::tuple(a.region, a.fragment) < std::tuple(b.region, b.fragment);
    });
    std::size_t at = 0;
    for (std::int64_t region = 0; region < regions_.size(); ++region) {
      const std::size_t begin = at;
      while (at < placed_.size() && placed_[at].region == region) ++at;
      const std::string fault = TilingFault(region, std::span(placed_).subspan(begin, at - begin));
      if (!fault.empty()) {
        return Broken(
            1,
            fmt::format("layout {}, region {} of tensor \"{}\"", layout_, region,
                        plan_.job.tensors[static_cast<std::size_t>(regions_[region].tensor)].name),
            fault);
      }
    }
    return {};
  }

 private:
  static std::int64_t Volume(std::span<const std::int64_t> extent) {
    std::int64_t volume = 1;
    for (const std::int64_t size : extent) volume *= size;
    return volume;
  }

  std::string TilingFault(std::int64_t region, std::span<const Placed> placed) const {
    std::int64_t volume = 0;
    for (const Placed& one : placed) volume += Volume(plan_.demand.fragments[one.fragment].extent);
    const std::int64_t wanted = Volume(regions_[region].extent);
    if (volume < wanted) {
      return fmt::format("{} of its {} elements are in no class that it needs", wanted - volume,
                         wanted);
    }
    if (placed.size() > 1) {
      const DisjointnessResult result = FragmentsDisjoint(placed);
      if (result.verdict == Disjointness::kOverlapping) {
        return fmt::format("fragments {} and {} overlap in it",
                           placed[result.overlap.first].fragment,
                           placed[result.overlap.second].fragment);
      }
      if (result.verdict == Disjointness::kUndecided) {
        return "it is cut too irregularly to prove that no fragments overlap";
      }
    }
    // Disjoint boxes inside a box cannot be larger than it.
    return volume == wanted ? "" : "its fragments are larger than it";
  }

  DisjointnessResult FragmentsDisjoint(std::span<const Placed> placed) const {
    BoxSet boxes(plan_.demand.fragments[placed[0].fragment].begin.size());
    std::vector<std::int64_t> end;
    for (const Placed& one : placed) {
      const Fragment fragment = plan_.demand.fragments[one.fragment];
      end.clear();
      for (std::size_t k = 0; k < fragment.begin.size(); ++k) {
        end.push_back(fragment.begin[k] + fragment.extent[k]);
      }
      boxes.Add(fragment.begin, end);
    }
    return PairwiseDisjoint(boxes);
  }

  const Plan& plan_;
  LayoutIndex layout_;
  const RegionTable& regions_;
  RegionFinder finder_;
  std::vector<Placed> placed_;
  AddressMap in_program_;
  AddressMap in_region_;
};

// There is a program for each relation, more where the layout needs the class at several places,
// and no other.
Result<void> CheckProgramsAreThose(const Plan& plan, const std::vector<Relation>& relations) {
  const auto key_of = [](const auto& row) { return std::tuple(row.layout, row.demand_class); };
  const std::vector<CopyProgram>& programs = plan.programs;
  std::size_t at = 0;
  for (const Relation& relation : relations) {
    if (at < programs.size() && key_of(programs[at]) < key_of(relation)) break;
    if (at == programs.size() || key_of(programs[at]) != key_of(relation)) {
      if (relation.demand_class == kZeroClass) {
        return Broken(1, fmt::format("layout {}", relation.layout),
                      "it declares zeros, but has no program of them");
      }
      return Broken(1, fmt::format("layout {}, class {}", relation.layout, relation.demand_class),
                    fmt::format("ranks of the layout {} the class, but it has no program",
                                relation.needs ? "need" : "hold"));
    }
    const std::size_t first = at;
    while (at < programs.size() && key_of(programs[at]) == key_of(relation)) ++at;
    if (at - first > 1 && (!relation.needs || relation.demand_class == kZeroClass)) {
      return Broken(1, fmt::format("layout {}, class {}", relation.layout, relation.demand_class),
                    "it has a program of a second place that is never written");
    }
  }
  if (at == programs.size()) return {};
  return Broken(
      1,
      fmt::format("program of layout {}, class {}", programs[at].layout, programs[at].demand_class),
      programs[at].demand_class == kZeroClass ? "the layout declares no zeros that a rank writes"
                                              : "no rank of the layout holds or needs the class");
}

}  // namespace

Result<void> VerifyDemand(const Plan& plan) {
  if (auto done = CheckFragments(plan); !done) return done;
  const auto relations = RelationsOf(plan);
  if (!relations) return tl::unexpected(relations.error());
  if (auto done = CheckProgramsAreThose(plan, *relations); !done) return done;
  std::vector<bool> is_needed(plan.job.layouts.size(), false);
  for (const Rank& rank : plan.job.ranks) {
    if (rank.destination_layout != kNoLayout) {
      is_needed[static_cast<std::size_t>(rank.destination_layout)] = true;
    }
  }
  std::size_t at = 0;
  std::size_t relation = 0;
  for (LayoutIndex layout = 0; layout < static_cast<LayoutIndex>(is_needed.size()); ++layout) {
    LayoutChecker checker(plan, layout);
    for (; at < plan.programs.size() && plan.programs[at].layout == layout; ++at) {
      const CopyProgram& program = plan.programs[at];
      while ((*relations)[relation].layout != layout ||
             (*relations)[relation].demand_class != program.demand_class) {
        ++relation;
      }
      const auto done = program.demand_class == kZeroClass
                            ? checker.CheckZeros(program)
                            : checker.CheckProgram(program, (*relations)[relation].needs);
      if (!done) return done;
    }
    if (!is_needed[static_cast<std::size_t>(layout)]) continue;
    if (auto done = checker.CheckTiling(); !done) return done;
  }
  return {};
}

}  // namespace reshard::verification
