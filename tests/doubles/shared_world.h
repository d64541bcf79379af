// Ranks that are processes of one machine: they meet in shared memory and read each other's device
// memory, of which nothing is left when a process is killed.
//
// No lock is shared, so that whoever dies holds none: each word has one writer, and who waits asks
// again and again. A process that makes ids with RESHARD_DOUBLES_PROCESSES set in its environment
// makes such worlds; the others follow from the id.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/doubles/nccl_world.h"

namespace reshard::doubles {

// A name that no other process makes, for the `number`th id of this one.
std::string SharedWorldName(std::uint64_t number);
bool IsSharedWorldName(const char* name);

// Null where another number of ranks was named before, or there is no shared memory.
std::shared_ptr<World> MakeSharedWorld(const std::string& name, int rank_count);

}  // namespace reshard::doubles
