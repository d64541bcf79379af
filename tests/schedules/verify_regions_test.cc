#include <gtest/gtest.h>

#include <vector>

#include "tests/schedules/plan_damage.h"

namespace reshard {
namespace {

std::vector<Damage> RegionDamages() {
  return {
      {"region_outside",
       [](Plan& p) {
         EditRegion(p, 2, 0, [](Region&, Longs& begin, Longs&, Longs&) { begin[0] = 1; });
       },
       "layout 2, region 0: dim 0 from 1 over 8 is not in tensor \"a\", which has 8"},
      {"region_stride",
       [](Plan& p) {
         EditRegion(p, 2, 0, [](Region&, Longs&, Longs&, Longs& stride) { stride[0] = 0; });
       },
       "layout 2, region 0: its stride of dim 0 is 0"},
      {"region_dtype", [](Plan& p) { p.job.layouts[2].parameters[1].dtype = DType::kI32; },
       "tensor \"b\" is F32, parameter \"b\" I32"},
      {"region_beyond",
       [](Plan& p) {
         p.job.layouts[3].parameters[0].shape = {7, 6};
       },
       "layout 3, region 0: it reaches beyond parameter \"a.right\", which has 42 elements"},
      {"region_order",
       [](Plan& p) {
         EditRegion(p, 2, 0, [](Region& r, Longs& begin, Longs& extent, Longs& stride) {
           r.tensor = 2;
           begin = {0};
           extent = {4};
           stride = {1};
         });
       },
       "layout 2, region 1: regions do not ascend"},
      // "c" one element further down lies on the last element of "a".
      {"regions_overlap",
       [](Plan& p) {
         EditRegion(p, 2, 2, [](Region& r, Longs&, Longs&, Longs&) { r.offset = 31; });
       },
       "layout 2: regions 0 and 2 overlap at element 31 of parameter \"fused\" (promise 1)"},
      {"region_overlaps_itself",
       [](Plan& p) {
         EditRegion(p, 3, 0, [](Region&, Longs&, Longs&, Longs& stride) { stride[0] = 3; });
       },
       "layout 3: regions 0 and 0 overlap at element 4 of parameter \"a.right\""},
      // They reach 65 of its 480 elements, but are 2^64: no product of 64 bits tells.
      {"zeros_without_bound",
       [](Plan& p) {
         RankLayout& layout = p.job.layouts[3];
         layout.parameters[0].shape = {8, 60};
         layout.zeros.Add({kZeroTensor, 0, 0, Longs(64, 0), Longs(64, 2), Longs(64, 1)});
       },
       "layout 3, zeros 0: they are more elements than their parameter has"},
      // 2^9 of which are 10 different ones.
      {"zeros_over_each_other",
       [](Plan& p) {
         RankLayout& layout = p.job.layouts[3];
         layout.parameters[0].shape = {8, 60};
         layout.zeros.Add({kZeroTensor, 0, 0, Longs(9, 0), Longs(9, 2), Longs(9, 1)});
       },
       "layout 3, zeros 0: they are more elements than their parameter has"},
  };
}

INSTANTIATE_TEST_SUITE_P(Regions, DamageTest, ::testing::ValuesIn(RegionDamages()), NameOf);

}  // namespace
}  // namespace reshard
