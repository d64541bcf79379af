// What `nvidia-smi topo -m` prints, as people paste it: tabs or blanks, terminal escapes, prompts
// and prose around it, rows that a terminal wrapped.
#pragma once

#include <string>
#include <string_view>

#include "foundation/error.h"
#include "topology/importers/node_description.h"

namespace reshard {

// Whether a line of `text` is the matrix's header.
bool HoldsSmiMatrix(std::string_view text);

// One node; errors begin with `name`. The matrix tells neither the kind of GPU nor rates of NICs.
Result<NodeDescription> ReadSmiMatrix(std::string_view text, const std::string& name);

}  // namespace reshard
