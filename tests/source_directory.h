#pragma once

#include <string>

namespace reshard {

// Root of the sources that the tests were built from, for the files they read there.
std::string SourceDirectory();

}  // namespace reshard
