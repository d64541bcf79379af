// Which tensors of a model are seen with one dim as two (tensor_view.h).
#pragma once

#include "compiler/layout/model.h"
#include "compiler/layout/tensor_view.h"

namespace reshard {

// Those in which the family says that two matrices alternate. None without a family, or where the
// model does not fit it: whoever needs the family reports that.
TensorViews ViewsOfFamily(const Model& model);

}  // namespace reshard
