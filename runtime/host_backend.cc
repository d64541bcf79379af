#include "runtime/host_backend.h"

#include <new>
#include <string>
#include <utility>

namespace reshard {
namespace {

// Room for any vector register, and a cache line.
constexpr std::align_val_t kStagingAlignment{64};

struct StagingDeleter {
  void operator()(std::byte* data) const { ::operator delete(data, kStagingAlignment); }
};

class HostBackend final : public Backend {
 public:
  HostBackend(std::shared_ptr<HostExchange> exchange, RankIndex rank)
      : exchange_(std::move(exchange)), rank_(rank) {}

  ~HostBackend() override {
    if (!joined_) return;
    // Copies end by themselves, and nothing may write to staging once it is freed.
    while (exchange_->Stop(rank_, std::chrono::seconds(1)) != StopResult::kStopped) {
    }
    exchange_->Leave(rank_);
  }

  Result<std::byte*> AllocateStaging(std::int64_t bytes) override {
    staging_.reset(static_cast<std::byte*>(
        ::operator new(static_cast<std::size_t>(bytes), kStagingAlignment, std::nothrow)));
    if (staging_ == nullptr) {
      return RunError("rank " + std::to_string(rank_),
                      "no memory for " + std::to_string(bytes) + " bytes of staging",
                      "lower options.stagingMiB and compile again");
    }
    return staging_.get();
  }

  Result<void> Prepare(LoweredRank lowered, std::vector<std::byte*> bases,
                       const std::string& job_digest) override {
    Result<void> joined = exchange_->Join(rank_, std::move(lowered), std::move(bases), job_digest);
    joined_ = joined.has_value();
    return joined;
  }

  Result<void> RecordSteps() override {
    exchange_->RecordSteps(rank_);
    return {};
  }

  std::vector<StepTime> StepTimes() const override { return exchange_->StepTimes(rank_); }

  Result<void> Start(std::uint64_t version) override { return exchange_->Start(rank_, version); }

  Result<ReplayProgress> WaitFor(std::chrono::nanoseconds timeout) override {
    return exchange_->WaitFor(rank_, timeout);
  }

  ReplayStatus Status() const override { return exchange_->Status(rank_); }

  StopResult Stop(std::chrono::nanoseconds grace) override { return exchange_->Stop(rank_, grace); }

 private:
  std::shared_ptr<HostExchange> exchange_;
  RankIndex rank_ = 0;
  bool joined_ = false;
  std::unique_ptr<std::byte, StagingDeleter> staging_;
};

}  // namespace

std::unique_ptr<Backend> MakeHostBackend(std::shared_ptr<HostExchange> exchange, RankIndex rank) {
  return std::make_unique<HostBackend>(std::move(exchange), rank);
}

}  // namespace reshard
