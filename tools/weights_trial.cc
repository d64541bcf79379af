#include "tools/weights_trial.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/conversion_lowering.h"
#include "tools/weights_writer.h"

namespace reshard {

Result<void> CheckShardFolder(const std::string& folder) {
  std::error_code failure;
  const bool exists = std::filesystem::exists(folder, failure);
  if (failure) return InputError(folder, "cannot be looked at: " + failure.message());
  if (!exists) {
    // It is made in the nearest folder there is.
    std::filesystem::path parent = std::filesystem::absolute(folder).parent_path();
    while (!std::filesystem::exists(parent, failure) && parent != parent.root_path()) {
      parent = parent.parent_path();
    }
    if (!std::filesystem::is_directory(parent, failure) ||
        access(parent.c_str(), W_OK | X_OK) != 0) {
      return InputError(folder, "cannot be made in " + parent.string(),
                        "name a directory where you may write");
    }
    return {};
  }
  if (!std::filesystem::is_directory(folder, failure)) {
    return InputError(folder, "is no directory", "name a directory for the shards");
  }
  const bool empty = std::filesystem::is_empty(folder, failure);
  if (failure) return InputError(folder, "cannot be read: " + failure.message());
  if (!empty) return InputError(folder, "is not empty", "name a new directory for the shards");
  return {};
}

namespace {

// What tensor number `tensor` is computed from, or null.
const ConvertedTensor* ConversionOf(const JobRecords& job, std::size_t tensor) {
  const auto index = static_cast<TensorIndex>(tensor);
  const auto found = std::ranges::lower_bound(job.converted, index, {}, &ConvertedTensor::tensor);
  return found == job.converted.end() || found->tensor != index ? nullptr : &*found;
}

// Tensor number `tensor`, or what it is computed from.
Tensor HeldTensor(const JobRecords& job, std::size_t tensor) {
  const ConvertedTensor* converted = ConversionOf(job, tensor);
  if (converted == nullptr) return job.tensors[tensor];
  return {converted->origin, converted->origin_dtype, converted->origin_shape};
}

}  // namespace

Result<void> WeightsTrial::CheckTensors(const Plan& plan, const WeightsReader& reader) {
  for (std::size_t t = 0; t < plan.job.tensors.size(); ++t) {
    Result<void> there = reader.Expect(HeldTensor(plan.job, t));
    if (!there) return there;
  }
  return {};
}

Result<WeightsTrial> WeightsTrial::Make(const Plan& plan, WeightsReader reader,
                                        HostOptions options) {
  Result<TrialReplay> replay = TrialReplay::Make(plan, options);
  if (!replay) return tl::unexpected(replay.error());
  WeightsTrial trial(plan, std::move(reader), *std::move(replay));
  for (std::size_t r = 0; r < plan.job.ranks.size(); ++r) {
    const auto rank = static_cast<RankIndex>(r);
    const TrialMemory& memory = trial.replay_.memory(rank);
    Result<WeightShards> shards =
        WeightShards::Make(plan.job, rank, memory.SourceBuffers(), memory.DestinationBuffers());
    if (!shards) return tl::unexpected(shards.error());
    trial.shards_.push_back(*std::move(shards));
  }
  return trial;
}

Result<std::vector<std::byte>> WeightsTrial::ReadHeld(std::size_t tensor) const {
  const ConvertedTensor* converted = ConversionOf(plan_->job, tensor);
  const Tensor held = HeldTensor(plan_->job, tensor);
  Result<std::vector<std::byte>> bytes = reader_.Read(held.name);
  if (!bytes) return bytes;
  ConvertedTensor step;
  step.origin_dtype = reader_.StoredDType(held.name);
  step.origin_shape = held.shape;
  if (step.origin_dtype != held.dtype) *bytes = ConvertTensor(step, held.dtype, *bytes);
  if (converted != nullptr && converted->kind == ConversionKind::kPlusOne) {
    step.kind = ConversionKind::kMinusOne;
    step.origin_dtype = held.dtype;
    *bytes = ConvertTensor(step, held.dtype, *bytes);
  }
  return bytes;
}

void WeightsTrial::Fill(std::uint64_t /*refit*/) {
  filled_ = {};
  for (WeightShards& shards : shards_) shards.Clear();
  for (std::size_t t = 0; t < plan_->job.tensors.size(); ++t) {
    const ConvertedTensor* converted = ConversionOf(plan_->job, t);
    const Result<std::vector<std::byte>> bytes = ReadHeld(t);
    if (!bytes) {
      filled_ = tl::unexpected(bytes.error());
      return;
    }
    for (WeightShards& shards : shards_) {
      if (converted == nullptr) {
        shards.Fill(static_cast<TensorIndex>(t), *bytes);
      } else {
        shards.FillOrigin(*converted, *bytes);
      }
    }
  }
}

Result<double> WeightsTrial::Replay(std::uint64_t refit, std::chrono::nanoseconds deadline) {
  if (!filled_) return tl::unexpected(filled_.error());
  return replay_.Replay(refit, deadline);
}

Result<void> WeightsTrial::Check(std::uint64_t /*refit*/) const {
  for (std::size_t t = 0; t < plan_->job.tensors.size(); ++t) {
    const Tensor& tensor = plan_->job.tensors[t];
    const ConvertedTensor* converted = ConversionOf(plan_->job, t);
    Result<std::vector<std::byte>> bytes = ReadHeld(t);
    if (!bytes) return tl::unexpected(bytes.error());
    if (converted != nullptr) *bytes = ConvertTensor(*converted, tensor.dtype, *bytes);
    for (const WeightShards& shards : shards_) {
      Result<void> right = shards.Check(static_cast<TensorIndex>(t), *bytes);
      if (!right) return right;
    }
  }
  for (const WeightShards& shards : shards_) {
    Result<void> right = shards.CheckZeros();
    if (!right) return right;
  }
  return {};
}

Result<WrittenShards> WeightsTrial::Write(const std::string& folder) const {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return InputError(folder, "cannot be made: " + failure.message());
  WrittenShards written{folder, 0, 0};
  for (std::size_t r = 0; r < plan_->job.ranks.size(); ++r) {
    const LayoutIndex layout = plan_->job.ranks[r].destination_layout;
    if (layout == kNoLayout) continue;
    std::map<std::string_view, std::span<const std::byte>> memory;
    const std::vector<NamedBuffer> buffers =
        replay_.memory(static_cast<RankIndex>(r)).DestinationBuffers();
    for (const NamedBuffer& buffer : buffers) {
      memory.emplace(buffer.name, std::span<const std::byte>(
                                      buffer.data, static_cast<std::size_t>(buffer.bytes)));
    }
    std::vector<StoredParameter> parameters;
    for (const Parameter& parameter :
         plan_->job.layouts[static_cast<std::size_t>(layout)].parameters) {
      parameters.push_back({parameter, memory.at(parameter.name)});
    }
    const std::string path =
        (std::filesystem::path(folder) / fmt::format("rank-{:05}.safetensors", r)).string();
    const Result<std::int64_t> bytes = WriteSafetensors(
        path, {{"format", "pt"}, {"rank", std::to_string(r)}}, std::move(parameters));
    if (!bytes) return tl::unexpected(bytes.error());
    ++written.files;
    written.bytes += *bytes;
  }
  return written;
}

}  // namespace reshard
