// A backend whose rank does something else than its plan says: what a broken or dying peer does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/backend.h"

namespace reshard {

class AlteredBackend final : public Backend {
 public:
  AlteredBackend(std::unique_ptr<Backend> backend, std::function<void(LoweredRank&)> alter)
      : backend_(std::move(backend)), alter_(std::move(alter)) {}

  Result<std::byte*> AllocateStaging(std::int64_t bytes) override {
    return backend_->AllocateStaging(bytes);
  }
  Result<void> Prepare(LoweredRank lowered, std::vector<std::byte*> bases,
                       const std::string& job_digest) override {
    alter_(lowered);
    return backend_->Prepare(std::move(lowered), std::move(bases), job_digest);
  }
  Result<void> Start(std::uint64_t version) override { return backend_->Start(version); }
  Result<ReplayProgress> WaitFor(std::chrono::nanoseconds timeout) override {
    return backend_->WaitFor(timeout);
  }
  ReplayStatus Status() const override { return backend_->Status(); }
  StopResult Stop(std::chrono::nanoseconds grace) override { return backend_->Stop(grace); }

 private:
  std::unique_ptr<Backend> backend_;
  std::function<void(LoweredRank&)> alter_;
};

}  // namespace reshard
