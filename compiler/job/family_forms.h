// Forms in which a framework holds tensors of a family, as its data file says (Family::stored).
#pragma once

#include <string_view>
#include <vector>

#include "compiler/job/casts.h"
#include "compiler/layout/model.h"

namespace reshard {

struct FamilyForms {
  std::vector<StoredForm> stored;
  // Of a source: all its functions can be undone. Where they cannot, `stored` has dtypes only, and
  // the layout leaves those tensors out, with the reason (GroupLayout::held_otherwise).
  bool functions_applied = false;
};

// Of the model's tensors as `framework` (a kind of layout) holds them. Empty where the family says
// nothing of it, or there is no family: what is wrong with the model, its layout will say.
FamilyForms FindFamilyForms(const Model& model, std::string_view framework, bool is_source);

}  // namespace reshard
