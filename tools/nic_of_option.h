// The value of --nic-of: "0=mlx5_0,1=mlx5_1,1=mlx5_2".
#pragma once

#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "topology/importers/nic_assignment.h"

namespace reshard {

// None of an empty text; wrong usage where a part is not GPU=NIC.
Result<std::vector<NicOfGpu>> ParseNicOf(std::string_view text);

}  // namespace reshard
