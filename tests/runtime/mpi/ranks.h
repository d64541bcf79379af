// The world of the test program: MPI starts once in a process.
#pragma once

#include "runtime/mpi/mpi_world.h"

namespace reshard {

const MpiWorld& TheWorld();

// Waits for all ranks: what one test leaves must not reach into the next.
void Meet();

}  // namespace reshard
