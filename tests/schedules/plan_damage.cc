#include "tests/schedules/plan_damage.h"

#include <gmock/gmock.h>

#include "schedules/verifier.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

RegionTable RegionsWith(const RegionTable& regions, std::int64_t index,
                        const std::function<void(Region&, Longs&, Longs&, Longs&)>& edit) {
  RegionTable edited;
  for (std::int64_t i = 0; i < regions.size(); ++i) {
    Region region = regions[i];
    Longs begin(region.begin.begin(), region.begin.end());
    Longs extent(region.extent.begin(), region.extent.end());
    Longs stride(region.stride.begin(), region.stride.end());
    if (i == index) edit(region, begin, extent, stride);
    edited.Add({region.tensor, region.parameter, region.offset, begin, extent, stride});
  }
  return edited;
}

}  // namespace

std::string VerdictOn(const Plan& plan) {
  const auto report = Verify(plan);
  return report ? "accepted" : ToString(report.error());
}

TEST_P(DamageTest, IsRefusedForItsOwnReason) {
  Plan plan = SmallPlan();
  GetParam().apply(plan);
  EXPECT_THAT(VerdictOn(plan), ::testing::HasSubstr(GetParam().reason));
}

std::string NameOf(const ::testing::TestParamInfo<Damage>& info) { return info.param.name; }

void EditRegion(Plan& plan, std::size_t layout, std::int64_t index,
                const std::function<void(Region&, Longs&, Longs&, Longs&)>& edit) {
  RegionTable& regions = plan.job.layouts[layout].regions;
  regions = RegionsWith(regions, index, edit);
}

void EditFragment(Plan& plan, std::int64_t index,
                  const std::function<void(Longs&, Longs&, std::int64_t&)>& edit) {
  FragmentTable edited;
  for (std::int64_t i = 0; i < plan.demand.fragments.size(); ++i) {
    const Fragment fragment = plan.demand.fragments[i];
    Longs begin(fragment.begin.begin(), fragment.begin.end());
    Longs extent(fragment.extent.begin(), fragment.extent.end());
    std::int64_t bytes = fragment.bytes;
    if (i == index) edit(begin, extent, bytes);
    edited.Add(fragment.tensor, bytes, begin, extent);
  }
  plan.demand.fragments = edited;
}

void ReplaceProgram(Plan& plan, std::size_t index, ParameterIndex parameter, std::int64_t offset,
                    std::int64_t run, const std::vector<CopyDim>& dims) {
  CopyProgram program;
  program.layout = plan.programs[index].layout;
  program.demand_class = plan.programs[index].demand_class;
  program.Add(parameter, offset, run, dims);
  plan.programs[index] = program;
}

}  // namespace reshard
