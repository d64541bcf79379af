// The backend without a GPU: ranks of one process, real packing, sending and unpacking.
#pragma once

#include <memory>

#include "runtime/backend.h"
#include "runtime/host_exchange.h"

namespace reshard {

// The backend of rank `rank` among those that meet in `exchange`.
std::unique_ptr<Backend> MakeHostBackend(std::shared_ptr<HostExchange> exchange, RankIndex rank);

}  // namespace reshard
