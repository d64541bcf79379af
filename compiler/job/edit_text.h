// The words of what-if: "nic 17*0.5; gpu 9 dead; destination.tensor=16".
//
//   PART NUMBERS [PROPERTY] =VALUE    nic 17=0
//   PART NUMBERS [PROPERTY] *FACTOR   domain 2 nvlink*0.5
//   PART NUMBERS dead                 rail 0-3 dead
//   KEY =VALUE                        domains=8, source.expert=32
//   KEY *FACTOR                       nicGBps*2
//
// PART is nic, gpu, domain or rail; NUMBERS an index list ("9", "0-3,8"); PROPERTY nvlink (of a gpu
// or domain) or nic (of a gpu or domain: its NICs). What the keys are is EditJob's to know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"

namespace reshard {

enum class EditPart { kNic, kGpu, kDomain, kRail, kKey };
enum class EditAction { kSet, kScale, kKill };

struct JobEdit {
  std::string text;  // as written, for errors
  EditPart part = EditPart::kKey;
  std::vector<std::int32_t> numbers;  // of a part
  std::string name;                   // a part's property, "" if it has none; else the key
  EditAction action = EditAction::kSet;
  std::string value;  // behind '=' or '*'
};

// At least one edit. Errors have fault kUsage and name the edit.
Result<std::vector<JobEdit>> ParseJobEdits(std::string_view text);

// A finite number of at least 0, and nothing else; an error of fault kUsage that names the edit.
Result<double> NumberOf(const JobEdit& edit);

// An error about `edit`, of fault kUsage.
tl::unexpected<Error> RefuseEdit(const JobEdit& edit, std::string reason, std::string remedy = "");

}  // namespace reshard
