#include "runtime/fragment_digests.h"

#include <algorithm>
#include <span>

#include "schedules/dtype.h"

namespace reshard {
namespace {

// Numbers of the regions of each tensor, in a layout that lists them by tensor.
std::pair<std::int64_t, std::int64_t> RegionsOf(const RegionTable& regions, TensorIndex tensor) {
  const auto first_from = [&](TensorIndex wanted) {
    std::int64_t low = 0;
    std::int64_t high = regions.size();
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (regions[middle].tensor < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  return {first_from(tensor), first_from(tensor + 1)};
}

bool Contains(const Region& region, const Fragment& fragment) {
  for (std::size_t d = 0; d < fragment.begin.size(); ++d) {
    if (fragment.begin[d] < region.begin[d] ||
        fragment.begin[d] + fragment.extent[d] > region.begin[d] + region.extent[d]) {
      return false;
    }
  }
  return true;
}

// The fragment as it lies in the region's parameter.
void AddBox(const Fragment& fragment, const Tensor& tensor, const Region& region,
            DigestTable& table) {
  const std::int64_t element_bytes = ElementBytes(tensor.dtype);
  const std::size_t rank = tensor.shape.size();
  std::vector<DigestDim> dims(rank);
  std::int64_t first_index = 0;
  std::int64_t position = region.offset;
  std::int64_t index_stride = 1;
  for (std::size_t d = rank; d-- > 0;) {
    dims[d] = {fragment.extent[d], index_stride, region.stride[d] * element_bytes};
    first_index += fragment.begin[d] * index_stride;
    position += (fragment.begin[d] - region.begin[d]) * region.stride[d];
    index_stride *= tensor.shape[d];
  }
  table.Add({fragment.tensor, static_cast<std::int32_t>(element_bytes), first_index,
             region.parameter, position * element_bytes, dims});
}

FragmentDigests DigestsOf(const Plan& plan, LayoutIndex layout_index, RankIndex rank,
                          RankSetIndex DemandClass::*ranks) {
  FragmentDigests digests;
  if (layout_index == kNoLayout) return digests;
  const RegionTable& regions = plan.job.layouts[static_cast<std::size_t>(layout_index)].regions;
  for (const DemandClass& demand_class : plan.demand.classes) {
    const std::vector<RankIndex>& members =
        plan.demand.rank_sets[static_cast<std::size_t>(demand_class.*ranks)];
    if (!std::binary_search(members.begin(), members.end(), rank)) continue;
    for (std::int64_t i = 0; i < demand_class.fragment_count; ++i) {
      const std::int64_t number = demand_class.first_fragment + i;
      const Fragment fragment = plan.demand.fragments[number];
      const Tensor& tensor = plan.job.tensors[static_cast<std::size_t>(fragment.tensor)];
      const auto [first, last] = RegionsOf(regions, fragment.tensor);
      for (std::int64_t r = first; r < last; ++r) {
        if (!Contains(regions[r], fragment)) continue;
        AddBox(fragment, tensor, regions[r], digests.table);
        digests.fragments.push_back(number);
      }
    }
  }
  return digests;
}

}  // namespace

FragmentDigests HeldFragments(const Plan& plan, RankIndex rank) {
  return DigestsOf(plan, plan.job.ranks[static_cast<std::size_t>(rank)].source_layout, rank,
                   &DemandClass::holders);
}

FragmentDigests NeededFragments(const Plan& plan, RankIndex rank) {
  return DigestsOf(plan, plan.job.ranks[static_cast<std::size_t>(rank)].destination_layout, rank,
                   &DemandClass::needers);
}

}  // namespace reshard
