// Blocks -> what one rank holds.
#pragma once

#include <string>

#include "compiler/layout/block.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

// Collects the parameters of one rank. Tensor indices in blocks are indices into the tensors of
// `model`, which must outlive the builder; blocks and regions given are of the tensors as listed,
// the layout that comes out is of their views (Model::views).
class RankLayoutBuilder {
 public:
  explicit RankLayoutBuilder(const Model& model) : model_(&model) {}

  // A parameter of the block's shape. Errors, their place the parameter's name: its bytes do not
  // fit 64 bits; a tensor in it has another dtype.
  Result<void> AddParameter(std::string name, DType dtype, const Block& block);

  // A parameter that regions added one by one fill; its index among those added. Errors as above.
  Result<ParameterIndex> AddParameter(Parameter parameter);
  // Preconditions: the region lies inside its parameter and tensor, and their dtypes are equal.
  void AddRegion(const Region& region);
  // Elements that the refit fills with zeros: of kZeroTensor, begin 0, inside their parameter.
  void AddZeros(const Region& region) { layout_.zeros.Add(region); }

  // Parameters come out bytewise by name, regions by (tensor, begin, parameter, offset) and zeros
  // by (parameter, offset), so that equal contents are equal values whatever the order they were
  // added in. Errors, their place the
  // parameter's name: two parameters of one name.
  Result<RankLayout> Build() &&;

 private:
  Result<void> AppendRegions(ParameterIndex parameter, const Block& block);

  const Model* model_;
  RankLayout layout_;
};

// `layout` with its parameters bytewise by name, its regions by (tensor, begin, parameter, offset)
// and its zeros by (parameter, offset).
RankLayout SortedLayout(RankLayout layout);

}  // namespace reshard
