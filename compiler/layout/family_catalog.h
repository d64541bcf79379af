// The families the program knows without a file, and which of them a tensor list is of.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/family.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"

namespace reshard {

// File name and text of each file in families/, compiled in; sorted by name.
std::span<const std::pair<std::string_view, std::string_view>> BuiltinFamilyFiles();

// All of them, read. They live as long as the program.
Result<std::span<const Family>> BuiltinFamilies();

// The family of that name, or of that model_type. Errors suggest the nearest known one.
Result<const Family*> FamilyByName(std::string_view name);
Result<const Family*> FamilyByModelType(std::string_view model_type);

// The family of a model: the user's own, or the one it names, else the one whose patterns know
// every tensor and whose required roles are there; of several, the one that leaves the fewest of
// its patterns unused. None, or several still, is an error that says what to give.
Result<std::shared_ptr<const Family>> FamilyOf(const Model& model);

}  // namespace reshard
