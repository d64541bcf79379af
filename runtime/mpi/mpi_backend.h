// The backend of real processes without GPUs: host memory, sent by MPI.
//
// A rank's three lanes are driven by the thread that waits: it runs the pack and unpack steps
// itself and polls the operations of the exchange step between them. After the last round the ranks
// commit: tokens with the version go up a tree over all ranks, and come down when everyone is done,
// so that an installed version is whole on every rank.
#pragma once

#include <memory>

#include "runtime/backend.h"
#include "runtime/mpi/mpi_world.h"

namespace reshard {

// The backend of `world`'s rank. It is made by all ranks together, once or again.
Result<std::unique_ptr<Backend>> MakeMpiBackend(const MpiWorld& world);

}  // namespace reshard
