// From groups that hold tensors in forms of their own to one list of tensors that move.
//
// Each form in which some destination group needs a tensor is a logical tensor of the job, under
// the tensor's own name where there is one form only. Source layouts get a computed parameter
// (schedules/conversion.h) for whatever they hold in another form.
#pragma once

#include <string>
#include <vector>

#include "compiler/job/job_side.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "schedules/conversion.h"

namespace reshard {

struct FormUnion {
  Model model;                             // tensors of all forms
  std::vector<std::string> listed_names;   // of each, as jobs write it: without its form
  std::vector<ConvertedTensor> converted;  // of `model`, ascending
};

// Whether any group has forms of its own.
bool HasForms(const Side& side);

// Renumbers the tensors of all layouts to those of the union. Errors, by tensor: source groups that
// hold it in different forms, a form that cannot be computed from the source's, a source shard that
// cuts a block.
Result<FormUnion> UniteForms(const Model& model, Side& source, Side& destination);

}  // namespace reshard
