#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "schedules/box_set.h"
#include "schedules/verification.h"

namespace reshard::verification {
namespace {

// Runs of elements that one parameter's regions may be expanded into, where nothing cheaper tells
// them apart.
constexpr std::int64_t kMaxExpandedRuns = std::int64_t{1} << 24;

std::int64_t ElementsOf(const std::vector<std::int64_t>& shape) {
  return CheckedProduct(shape).value_or(0);  // VerifyRecords() has seen that it fits
}

// The last element a region touches; nothing where it does not fit 64 bits.
std::optional<std::int64_t> LastElement(const Region& region) {
  std::optional<std::int64_t> last = region.offset;
  for (std::size_t k = 0; last && k < region.extent.size(); ++k) {
    const auto span = CheckedMultiply(region.extent[k] - 1, region.stride[k]);
    last = span ? CheckedAdd(*last, *span) : std::nullopt;
  }
  return last;
}

std::string RegionFault(const Region& region, const Tensor& tensor, const Parameter& parameter) {
  for (std::size_t k = 0; k < region.extent.size(); ++k) {
    if (region.extent[k] < 1 || region.begin[k] < 0 ||
        region.extent[k] > tensor.shape[k] - region.begin[k]) {
      return fmt::format("dim {} from {} over {} is not in tensor \"{}\", which has {}", k,
                         region.begin[k], region.extent[k], tensor.name, tensor.shape[k]);
    }
    if (region.extent[k] > 1 && region.stride[k] < 1) {
      return fmt::format("its stride of dim {} is {}", k, region.stride[k]);
    }
  }
  if (tensor.dtype != parameter.dtype) {
    return fmt::format("tensor \"{}\" is {}, parameter \"{}\" {}", tensor.name, Name(tensor.dtype),
                       parameter.name, Name(parameter.dtype));
  }
  const std::optional<std::int64_t> last = LastElement(region);
  if (region.offset < 0 || !last || *last >= ElementsOf(parameter.shape)) {
    return fmt::format("it reaches beyond parameter \"{}\", which has {} elements", parameter.name,
                       ElementsOf(parameter.shape));
  }
  return "";
}

Result<void> CheckRegions(const JobRecords& job, std::size_t index) {
  const RankLayout& layout = job.layouts[index];
  for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
    const Region region = layout.regions[i];
    const std::string fault =
        RegionFault(region, job.tensors[static_cast<std::size_t>(region.tensor)],
                    layout.parameters[static_cast<std::size_t>(region.parameter)]);
    if (!fault.empty()) return Broken(1, fmt::format("layout {}, region {}", index, i), fault);
    if (i == 0) continue;
    const Region last = layout.regions[i - 1];
    const bool ascends =
        last.tensor != region.tensor
            ? last.tensor < region.tensor
            : !std::lexicographical_compare(region.begin.begin(), region.begin.end(),
                                            last.begin.begin(), last.begin.end());
    if (!ascends) {
      return Broken(6, fmt::format("layout {}, region {}", index, i),
                    "regions do not ascend by tensor and begin");
    }
  }
  return {};
}

Result<void> CheckZeros(const JobRecords& job, std::size_t index) {
  const RankLayout& layout = job.layouts[index];
  for (std::int64_t i = 0; i < layout.zeros.size(); ++i) {
    const Region region = layout.zeros[i];
    const std::string place = fmt::format("layout {}, zeros {}", index, i);
    for (std::size_t k = 0; k < region.extent.size(); ++k) {
      if (region.begin[k] != 0 || region.extent[k] < 1 ||
          (region.extent[k] > 1 && region.stride[k] < 1)) {
        return Broken(1, place,
                      fmt::format("dim {} is empty, does not begin at 0 or has no stride", k));
      }
    }
    const Parameter& parameter = layout.parameters[static_cast<std::size_t>(region.parameter)];
    const std::optional<std::int64_t> last = LastElement(region);
    if (region.offset < 0 || !last || *last >= ElementsOf(parameter.shape)) {
      return Broken(1, place,
                    fmt::format("they reach beyond parameter \"{}\", which has {} elements",
                                parameter.name, ElementsOf(parameter.shape)));
    }
    // Dims that step over each other reach few elements and still count without bound.
    const std::optional<std::int64_t> count = CheckedProduct(region.extent);
    if (!count || *count > ElementsOf(parameter.shape)) {
      return Broken(1, place, "they are more elements than their parameter has");
    }
    if (i == 0) continue;
    const Region before = layout.zeros[i - 1];
    if (std::tuple(before.parameter, before.offset) >=
        std::tuple(region.parameter, region.offset)) {
      return Broken(6, place, "zeros do not ascend by parameter and offset");
    }
  }
  return {};
}

// Whether the regions of one parameter touch no element twice. Three tests, each exact where it
// says yes, from cheap to dear: their extents in memory lie apart; their boxes in the parameter's
// own coordinates lie apart; their runs of elements, sorted, lie apart.
class ParameterRegions {
 public:
  // Regions of `layout` from number `first_zeros` on are its zeros.
  ParameterRegions(const RankLayout& layout, std::int64_t first_zeros,
                   std::span<const std::int64_t> regions)
      : layout_(layout),
        first_zeros_(first_zeros),
        regions_(regions),
        parameter_(
            layout.parameters[static_cast<std::size_t>(layout.regions[regions[0]].parameter)]) {}

  // What is wrong; nothing if no element is touched twice.
  std::string Fault() {
    const bool each_once = std::all_of(regions_.begin(), regions_.end(), [this](std::int64_t i) {
      return TouchesEachOnce(layout_.regions[i]);
    });
    if (each_once && (ExtentsLieApart() || BoxesLieApart())) return "";
    return RunsFault();
  }

 private:
  // Sufficient: every dim steps over all that the dims of smaller strides reach.
  static bool TouchesEachOnce(const Region& region) {
    std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, extent
    for (std::size_t k = 0; k < region.extent.size(); ++k) {
      if (region.extent[k] > 1) dims.emplace_back(region.stride[k], region.extent[k]);
    }
    std::sort(dims.begin(), dims.end());
    std::int64_t reach = 0;
    for (const auto& [stride, extent] : dims) {
      if (stride <= reach) return false;
      reach += stride * (extent - 1);
    }
    return true;
  }

  bool ExtentsLieApart() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> extents;
    extents.reserve(regions_.size());
    for (const std::int64_t i : regions_) {
      const Region region = layout_.regions[i];
      extents.emplace_back(region.offset, *LastElement(region));
    }
    std::sort(extents.begin(), extents.end());
    for (std::size_t i = 1; i < extents.size(); ++i) {
      if (extents[i].first <= extents[i - 1].second) return false;
    }
    return true;
  }

  // Elements are one to one with coordinates in the parameter's shape. A region whose every dim
  // steps along one axis, without running over that axis's end, lies in a box of coordinates.
  bool BoxesLieApart() const {
    std::vector<std::int64_t> axis_strides;  // descending; axes of size 1 left out
    std::vector<std::int64_t> axis_sizes;
    std::int64_t stride = 1;
    for (std::size_t k = parameter_.shape.size(); k-- > 0;) {
      if (parameter_.shape[k] == 1) continue;
      axis_strides.insert(axis_strides.begin(), stride);
      axis_sizes.insert(axis_sizes.begin(), parameter_.shape[k]);
      stride *= parameter_.shape[k];
    }
    BoxSet boxes(axis_strides.size());
    std::vector<std::int64_t> begin(axis_strides.size());
    std::vector<std::int64_t> end(axis_strides.size());
    for (const std::int64_t i : regions_) {
      const Region region = layout_.regions[i];
      std::int64_t rest = region.offset;
      for (std::size_t axis = 0; axis < axis_strides.size(); ++axis) {
        begin[axis] = rest / axis_strides[axis];
        end[axis] = begin[axis] + 1;
        rest %= axis_strides[axis];
      }
      for (std::size_t k = 0; k < region.extent.size(); ++k) {
        if (region.extent[k] == 1) continue;
        std::size_t axis = 0;
        while (axis_strides[axis] > region.stride[k]) ++axis;
        if (region.stride[k] % axis_strides[axis] != 0) return false;
        end[axis] += region.stride[k] / axis_strides[axis] * (region.extent[k] - 1);
        if (end[axis] > axis_sizes[axis]) return false;
      }
      boxes.Add(begin, end);
    }
    return PairwiseDisjoint(boxes, std::int64_t{1} << 26).verdict == Disjointness::kDisjoint;
  }

  // The dim whose elements follow each other, or the number of dims.
  static std::size_t RunDim(const Region& region) {
    std::size_t k = 0;
    while (k < region.extent.size() && (region.extent[k] == 1 || region.stride[k] != 1)) ++k;
    return k;
  }

  struct Run {
    std::int64_t begin, end, region;
  };

  void AppendRuns(std::int64_t number, std::vector<Run>& runs) const {
    const Region region = layout_.regions[number];
    const std::size_t run_dim = RunDim(region);
    const std::int64_t length = run_dim < region.extent.size() ? region.extent[run_dim] : 1;
    std::vector<std::int64_t> starts{region.offset};
    for (std::size_t k = 0; k < region.extent.size(); ++k) {
      const std::size_t base = starts.size();
      if (k == run_dim) continue;
      for (std::int64_t step = 1; step < region.extent[k]; ++step) {
        for (std::size_t s = 0; s < base; ++s) {
          starts.push_back(starts[s] + step * region.stride[k]);
        }
      }
    }
    for (const std::int64_t start : starts) runs.push_back({start, start + length, number});
  }

  std::string RunsFault() const {
    std::int64_t count = 0;
    for (const std::int64_t i : regions_) {
      const Region region = layout_.regions[i];
      std::int64_t elements = 1;
      for (const std::int64_t extent : region.extent) elements *= extent;
      const std::size_t run_dim = RunDim(region);
      count += run_dim < region.extent.size() ? elements / region.extent[run_dim] : elements;
      if (count > kMaxExpandedRuns) {
        return fmt::format(
            "its regions in parameter \"{}\" interleave too finely to prove that none overlap",
            parameter_.name);
      }
    }
    std::vector<Run> runs;
    for (const std::int64_t i : regions_) AppendRuns(i, runs);
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
      return std::tuple(a.begin, a.end, a.region) < std::tuple(b.begin, b.end, b.region);
    });
    for (std::size_t i = 1; i < runs.size(); ++i) {
      if (runs[i].begin >= runs[i - 1].end) continue;
      const std::int64_t first = std::min(runs[i - 1].region, runs[i].region);
      const std::int64_t second = std::max(runs[i - 1].region, runs[i].region);
      return fmt::format("{} and {} overlap at element {} of parameter \"{}\"",
                         first < first_zeros_ ? fmt::format("regions {}", first)
                                              : fmt::format("zeros {}", first - first_zeros_),
                         second < first_zeros_ ? fmt::format("{}", second)
                                               : fmt::format("zeros {}", second - first_zeros_),
                         runs[i].begin, parameter_.name);
    }
    return "";
  }

  const RankLayout& layout_;
  std::int64_t first_zeros_;
  std::span<const std::int64_t> regions_;
  const Parameter& parameter_;
};

Result<void> CheckWritesApart(const RankLayout& declared, std::size_t index) {
  // Zeros are written as well: they are checked as further regions.
  RankLayout with_zeros;
  if (!declared.zeros.empty()) {
    with_zeros = declared;
    for (std::int64_t i = 0; i < declared.zeros.size(); ++i) {
      with_zeros.regions.Add(declared.zeros[i]);
    }
  }
  const RankLayout& layout = declared.zeros.empty() ? declared : with_zeros;
  std::vector<std::int64_t> regions(static_cast<std::size_t>(layout.regions.size()));
  for (std::size_t i = 0; i < regions.size(); ++i) regions[i] = static_cast<std::int64_t>(i);
  const auto parameter_of = [&layout](std::int64_t i) { return layout.regions[i].parameter; };
  std::stable_sort(regions.begin(), regions.end(), [&](std::int64_t a, std::int64_t b) {
    return parameter_of(a) < parameter_of(b);
  });
  for (std::size_t begin = 0; begin < regions.size();) {
    std::size_t end = begin;
    while (end < regions.size() && parameter_of(regions[end]) == parameter_of(regions[begin]))
      ++end;
    const std::string fault = ParameterRegions(layout, declared.regions.size(),
                                               std::span(regions).subspan(begin, end - begin))
                                  .Fault();
    if (!fault.empty()) return Broken(1, fmt::format("layout {}", index), fault);
    begin = end;
  }
  return {};
}

}  // namespace

Result<void> VerifyRegions(const Plan& plan) {
  std::vector<bool> is_written(plan.job.layouts.size(), false);
  for (const Rank& rank : plan.job.ranks) {
    if (rank.destination_layout != kNoLayout) {
      is_written[static_cast<std::size_t>(rank.destination_layout)] = true;
    }
  }
  for (std::size_t i = 0; i < plan.job.layouts.size(); ++i) {
    if (auto done = CheckRegions(plan.job, i); !done) return done;
    if (auto done = CheckZeros(plan.job, i); !done) return done;
    if (!is_written[i]) continue;
    if (auto done = CheckWritesApart(plan.job.layouts[i], i); !done) return done;
  }
  return {};
}

}  // namespace reshard::verification
