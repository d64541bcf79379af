// Real weights in the parameters of one rank: laid out as the source layout says before a replay,
// compared with what the destination layout says after it. Works from the job's regions alone, as
// trial_content.h does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foundation/error.h"
#include "runtime/binding.h"
#include "schedules/job_records.h"

namespace reshard {

class WeightShards {
 public:
  // `source` and `destination` are the rank's buffers, as for Engine::Bind; they and `job` outlive
  // it. Fails where a parameter has no buffer of its size.
  static Result<WeightShards> Make(const JobRecords& job, RankIndex rank,
                                   std::span<const NamedBuffer> source,
                                   std::span<const NamedBuffer> destination);

  // Zeros in every byte of both sides: what no tensor fills stays so. But declared zeros of the
  // destination get kUntouchedByte (trial_content.h): it is the replay that has to write them.
  void Clear();

  // The source regions of `tensor` get its elements. `bytes` are all of them, row-major.
  void Fill(TensorIndex tensor, std::span<const std::byte> bytes);

  // What the rank computes `tensor` from gets elements of its origin. `bytes` are all of the
  // origin, row-major.
  void FillOrigin(const ConvertedTensor& tensor, std::span<const std::byte> bytes);

  // Whether the destination regions of `tensor` hold its elements. The error names rank, parameter
  // and byte offset.
  Result<void> Check(TensorIndex tensor, std::span<const std::byte> bytes) const;

  // Whether the declared zeros of the destination are zero. Errors as of Check().
  Result<void> CheckZeros() const;

 private:
  // The memory of one side, parameter by parameter of its layout.
  struct Side {
    const RankLayout* layout = nullptr;  // null: not of that side
    std::vector<std::span<std::byte>> parameters;
  };

  static Result<Side> MakeSide(const JobRecords& job, RankIndex rank, LayoutIndex layout,
                               std::span<const NamedBuffer> buffers);

  const JobRecords* job_ = nullptr;
  RankIndex rank_ = 0;
  Side source_;
  Side destination_;
};

}  // namespace reshard
