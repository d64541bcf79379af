// The layout of a source rank that computes tensors from what it stores.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "schedules/conversion.h"
#include "schedules/job_records.h"

namespace reshard {

class ComputedParameterBuilder {
 public:
  // `tensors` are those that regions name; they outlive the builder. Regions of `stored` are to be
  // added one by one.
  ComputedParameterBuilder(const Model& tensors, RankLayout stored);

  // A region as the rank stores it.
  void Keep(const Region& region);
  // `region` is where the rank stores a box of the origin; it computes the same of `converted`,
  // or the scales of its blocks. An error without a place: the box cuts a block.
  Result<void> Convert(const Region& region, const ConvertedTensor& converted);

  RankLayout Build() &&;

 private:
  Result<void> ConvertBlocks(const Region& region, const ConvertedTensor& converted);

  const Model& tensors_;
  RankLayout layout_;
  // Where elements are converted one by one: the computed parameter of a stored one.
  std::map<std::tuple<ParameterIndex, ConversionKind, DType>, ParameterIndex> computed_;
};

}  // namespace reshard
