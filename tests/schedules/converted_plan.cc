#include "tests/schedules/converted_plan.h"

#include "tests/schedules/small_plan.h"

namespace reshard {

Plan ConvertedPlan() {
  Plan plan = SmallPlan();
  plan.job.converted = {
      {1, ConversionKind::kBlockScales, "b.weight", DType::kBF16, {128}, {4}},
      {2, ConversionKind::kCast, "c", DType::kF32, {4}, {}},
  };
  RankLayout& first = plan.job.layouts[0];
  first.parameters.push_back({"stored", DType::kBF16, {130}});
  first.parameters.push_back({"master", DType::kF32, {6}});
  first.conversions = {{1, 3, ConversionKind::kBlockScales, 2, {128}, {1}, {4}},
                       {2, 4, ConversionKind::kCast, 1, {4}, {1}, {}}};
  RankLayout& second = plan.job.layouts[1];
  second.parameters.push_back({"stored", DType::kBF16, {128}});
  second.conversions = {{0, 1, ConversionKind::kBlockScales, 0, {128}, {1}, {4}}};
  return plan;
}

}  // namespace reshard
