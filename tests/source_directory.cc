#include "tests/source_directory.h"

namespace reshard {

std::string SourceDirectory() { return RESHARD_SOURCE_DIR; }

}  // namespace reshard
