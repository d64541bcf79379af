// Made-up weights, to see whether a replay puts every byte where it belongs.
//
// Each element of each refit has a value of its own (trial_values.h), and none has to be kept.
// Memory is filled and checked through the regions of the job alone: nothing here knows fragments,
// copy programs or rounds, the things under test. Bytes outside of all regions have a fixed
// pattern, which a replay must leave alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/error.h"
#include "runtime/binding.h"
#include "runtime/trial_values.h"
#include "schedules/job_records.h"

namespace reshard {

inline constexpr std::byte kUntouchedByte{0xA5};

// The regions of one layout, parameter by parameter: a layout lists them by tensor.
class RegionsByParameter {
 public:
  explicit RegionsByParameter(const RankLayout& layout);
  std::span<const std::int64_t> Of(ParameterIndex parameter) const;

 private:
  std::vector<std::int64_t> first_;    // of each parameter in regions_, and the end
  std::vector<std::int64_t> regions_;  // numbers of regions, parameter by parameter
};

// What a trial of a whole job needs in bytes: parameters and one image to compare with.
Result<std::int64_t> TrialBytes(const JobRecords& job);

// The parameters of one rank, in memory of its own. Parameters of an inPlace pair share one buffer.
class TrialMemory {
 public:
  // `job` outlives it. Fails where there is no memory.
  static Result<TrialMemory> Make(const JobRecords& job, RankIndex rank);
  static Result<TrialMemory> Make(JobRecords&& job, RankIndex rank) = delete;

  // For Engine::Bind.
  std::vector<NamedBuffer> SourceBuffers() const;
  std::vector<NamedBuffer> DestinationBuffers() const;

  // Source regions get the values of `refit`, parameters that others are computed from those of the
  // origins, every other byte kUntouchedByte.
  void Fill(std::uint64_t refit);

  // Every byte: destination regions have the values of `refit`, its declared zeros are zero, source
  // regions still have their values (but where a destination region or zeros lie in the same
  // place), all others are untouched. The error names rank, parameter and byte offset.
  Result<void> Check(std::uint64_t refit) const;

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> data;
    std::int64_t bytes = 0;
    std::optional<ParameterIndex> source;  // the parameters it holds, of each side
    std::optional<ParameterIndex> destination;
  };

  TrialMemory(const JobRecords& job, RankIndex rank);
  const RankLayout* Layout(LayoutIndex layout) const;
  // Writes what is computed from one source parameter into `image`, of the elements it has.
  void WriteOrigins(ParameterIndex parameter, std::uint64_t refit, std::byte* image) const;
  // Writes the values of the regions of one parameter into `image`.
  void Write(const RankLayout& layout, const RegionsByParameter& regions, ParameterIndex parameter,
             std::uint64_t refit, std::byte* image) const;
  // What `buffer` holds after a refit (or before, without its destination regions).
  void Paint(const Buffer& buffer, std::uint64_t refit, bool is_installed, std::byte* image) const;
  std::string NameOf(const Buffer& buffer) const;

  const JobRecords* job_ = nullptr;
  RankIndex rank_ = 0;
  const RankLayout* source_layout_ = nullptr;  // null: not of that side
  const RankLayout* destination_layout_ = nullptr;
  TrialOrigins origins_;
  RegionsByParameter source_regions_;
  RegionsByParameter destination_regions_;
  std::vector<Buffer> buffers_;
};

}  // namespace reshard
