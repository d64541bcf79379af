// What the handles of reshard.h stand for, and how its functions report errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/engine.h"
#include "runtime/host_exchange.h"
#include "schedules/channel_hints.h"
#include "schedules/rank_part.h"

namespace reshard {
class Communicator;
class NcclBackend;
}  // namespace reshard

struct reshard_plan {
  reshard::RankPart part;
  reshard::ChannelHints channels;
  std::vector<const reshard::Parameter*> stored[2];  // of each side, those that have memory
};

struct reshard_host {
  std::shared_ptr<reshard::HostExchange> exchange;
};

struct reshard_nccl {
  std::shared_ptr<reshard::Communicator> communicator;
};

struct reshard_engine {
  std::unique_ptr<reshard::Engine> engine;
  reshard::NcclBackend* nccl = nullptr;  // the engine's, where it is on NCCL
  std::vector<reshard::NamedBuffer> source;
  std::vector<reshard::NamedBuffer> destination;
};

namespace reshard {

// A call that reshard.h does not allow.
Error UsageError(std::string reason);
Error NullError();
// Whether it is, and the error kept.
bool IsNull(const void* handle);

// Keeps the error for reshard_last_error; its fault as a number.
int KeepError(const Error& error);
int KeepResult(const Result<void>& result);

// For functions that return handles: null, and the error kept.
template <typename Handle>
Handle* FailedHandle(const Error& error) {
  static_cast<void>(KeepError(error));
  return nullptr;
}

}  // namespace reshard
