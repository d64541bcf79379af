// The text of simulator/constants/default.json, as built into the program.
#pragma once

#include <string_view>

namespace reshard {

std::string_view DefaultConstantsText();

}  // namespace reshard
