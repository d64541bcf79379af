// Domain types that need no definition in cluster.json.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/domain_type.h"

namespace reshard {

// dgx-a100, dgx-h100, dgx-h200, dgx-b200, gb200-nvl72, gb300-nvl72, vr200-nvl72.
std::vector<std::string_view> BuiltinTypeNames();

// none if no built-in type has that name.
std::optional<DomainType> BuiltinType(std::string_view name);

}  // namespace reshard
